"""infra/cloudrun and infra/gpu, held to the schemas and the rules of those who will read them."""

import json
import os
import re
import shutil
import subprocess
import sysconfig
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
INFRA = ROOT / "infra"
KINDS = ("cloudrun", "gpu")
SERVICES = ("cloudrun/service.yaml", "gpu/service-gpu.yaml")


def run_schema() -> dict[str, Any]:
    """Return JSON Schema of Cloud Run's Knative service, out of Google's description of its API."""
    cache = resources.files("googleapiclient") / "discovery_cache" / "documents" / "run.v1.json"
    schemas = json.loads(cache.read_text("utf-8"))["schemas"]

    def turned(part: Any) -> Any:
        if isinstance(part, list):
            return [turned(each) for each in part]
        if not isinstance(part, dict):
            return part
        if "$ref" in part:
            return {"$ref": f"#/$defs/{part['$ref']}"}
        kept = {key: turned(value) for key, value in part.items() if key not in UNKNOWN}
        if "properties" in part:  # its keys are names, whatever they spell
            named = part["properties"].items()
            kept["properties"] = {name: turned(value) for name, value in named}
            kept["additionalProperties"] = False  # so that a typo is one
        return kept

    return {
        "$ref": "#/$defs/Service",
        "$defs": {name: turned(each) for name, each in schemas.items()},
    }


# Words of the description that mean other things in JSON Schema, or nothing.
UNKNOWN = {"id", "format", "readOnly", "deprecated", "enumDescriptions"}


def service(name: str) -> Any:
    yaml = pytest.importorskip("yaml")
    return yaml.safe_load((INFRA / name).read_text("utf-8"))


@pytest.mark.clients
@pytest.mark.parametrize("name", SERVICES)
def test_the_service_fits_the_schema_of_the_api(name: str) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    pytest.importorskip("googleapiclient")
    validator = jsonschema.Draft202012Validator(run_schema())
    given = service(name)
    assert [error.message for error in validator.iter_errors(given)] == []
    given["spec"]["template"]["spec"]["containerConcurency"] = 4
    assert any("containerConcurency" in error.message for error in validator.iter_errors(given))


@pytest.mark.parametrize("name", SERVICES)
def test_the_service_asks_the_server_what_it_answers(name: str) -> None:
    container = service(name)["spec"]["template"]["spec"]["containers"][0]
    assert container["startupProbe"]["httpGet"]["path"] == "/readyz"
    assert container["livenessProbe"]["httpGet"]["path"] == "/healthz"
    assert container["ports"][0]["containerPort"] == 8080
    names = {each["name"] for each in container["env"]}
    assert "RANKLET_API_KEY" in names
    assert not [each for each in container["env"] if each.get("value") and "KEY" in each["name"]]


@pytest.mark.parametrize("kind", KINDS)
def test_the_dockerfile_has_the_settings_that_serving_needs(kind: str) -> None:
    text = (INFRA / kind / "Dockerfile").read_text("utf-8")
    stages = text.split("\nFROM ")
    assert len(stages) == 3
    assert "ORT_DISABLE_TELEMETRY=1" in stages[2]
    assert "USER 65532:65532" in stages[2]
    assert "pip" not in stages[2]
    assert stages[2].rstrip().splitlines()[-1] == "COPY ${BUNDLE} /bundle"
    for line in re.findall(r"^COPY (?!--from)(.*) \S+$", text, re.MULTILINE):
        for source in line.split():
            assert source == "${BUNDLE}" or (ROOT / source).exists(), source


def pinned(file: str) -> list[tuple[str, str]]:
    """Return the packages of a file and their versions; a line of another kind fails."""
    lines = (INFRA / file).read_text("utf-8").replace(" \\\n", "").splitlines()
    wanted = [line for line in lines if line and not line.startswith("#")]
    hashed = r"([\w.-]+)==(\d[\w.]*)(?: +--hash=sha256:[0-9a-f]{64})"
    end = "*" if file.endswith(".in") else "+"
    found = [re.fullmatch(hashed + end, line) for line in wanted]
    assert [line for line, match in zip(wanted, found, strict=True) if match is None] == []
    return [(match[1].lower().replace("_", "-"), match[2]) for match in found if match]


@pytest.mark.parametrize(
    "file", ["cloudrun/requirements", "gpu/requirements", "lambda/requirements"]
)
def test_every_package_has_a_version_and_hashes(file: str) -> None:
    assert pinned(f"{file}.txt") == sorted(pinned(f"{file}.in"))
    folder, name = file.split("/")
    installs = (INFRA / folder / "Dockerfile").read_text("utf-8").replace("\\\n", "")
    (line,) = [line for line in installs.splitlines() if f"requirement /build/{name}.txt" in line]
    assert "--require-hashes" in line


@pytest.mark.parametrize("file", SERVICES)
def test_the_readmes_command_fills_in_the_service(file: str) -> None:
    """It replaces all that is to be replaced, and no name of a variable."""
    yaml = pytest.importorskip("yaml")
    readme = (INFRA / "cloudrun" / "README.md").read_text("utf-8")
    (command,) = re.findall(r"^sed .*service\.yaml", readme, re.MULTILINE)
    command = command.replace("infra/cloudrun/service.yaml", str(INFRA / file))
    variables = {**os.environ, "REGION": "europe-west1", "PROJECT": "my-project"}
    shell = ["sh", "-c", command]
    done = subprocess.run(shell, capture_output=True, text=True, env=variables, check=True)
    filled = yaml.safe_load(done.stdout)
    name, template = filled["metadata"]["name"], filled["spec"]["template"]["spec"]
    (container,) = template["containers"]
    assert "YOUR-" not in str(filled)
    assert container["image"] == f"europe-west1-docker.pkg.dev/my-project/ranklet/{name}:1"
    values = {each["name"]: each.get("value") for each in container["env"]}
    assert values["GOOGLE_CLOUD_PROJECT"] == "my-project"
    assert template["serviceAccountName"] == f"{name}@my-project.iam.gserviceaccount.com"


@pytest.mark.clients
@pytest.mark.parametrize("kind", KINDS)
def test_hadolint_finds_nothing(kind: str) -> None:
    hadolint = shutil.which("hadolint") or shutil.which("hadolint", path=_scripts())
    if hadolint is None:
        pytest.skip("hadolint is not installed")
    done = subprocess.run(
        [hadolint, str(INFRA / kind / "Dockerfile")], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout) == (0, "")


def _scripts() -> str:
    """Return where this environment's commands are."""
    return sysconfig.get_path("scripts")


PARSE = """
const { parse } = require("@cdktf/hcl2json");
const read = require("fs").readFileSync;
parse("given.tf", read(0, "utf-8")).then(
  (found) => console.log(JSON.stringify(found)),
  (error) => { console.error(String(error)); process.exit(1); });
"""


def hcl(text: str) -> dict[str, Any]:
    """Parse Terraform's language; ValueError says what is wrong."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no node")
    known = subprocess.run(
        [node, "-e", "require.resolve('@cdktf/hcl2json')"], capture_output=True, cwd=ROOT
    )
    if known.returncode:
        pytest.skip("@cdktf/hcl2json is not installed (npm install @cdktf/hcl2json; NODE_PATH)")
    done = subprocess.run(
        [node, "-e", PARSE], input=text, capture_output=True, text=True, timeout=60, env=os.environ
    )
    if done.returncode:
        raise ValueError(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def terraform() -> dict[str, dict[str, Any]]:
    """Return both modules, parsed: kind of block → its blocks."""
    found: dict[str, dict[str, Any]] = {}
    for kind in KINDS:
        files = sorted((INFRA / kind).glob("*.tf"))
        found[kind] = hcl("\n".join(file.read_text("utf-8") for file in files))
    return found


@pytest.mark.clients
@pytest.mark.slow
def test_terraform_is_well_formed_and_declares_what_it_uses(
    terraform: dict[str, dict[str, Any]],
) -> None:
    for kind, parsed in terraform.items():
        used = re.findall(r"\bvar\.(\w+)", json.dumps(parsed))
        assert set(used) == set(parsed["variable"]), kind
    service_ = terraform["cloudrun"]["resource"]["google_cloud_run_v2_service"]["ranklet"][0]
    container = service_["template"][0]["containers"][0]
    assert container["startup_probe"][0]["http_get"][0]["path"] == "/readyz"
    assert container["liveness_probe"][0]["http_get"][0]["path"] == "/healthz"
    (module,) = terraform["gpu"]["module"]["service"]
    assert set(module) - {"source"} <= set(terraform["cloudrun"]["variable"])
    with pytest.raises(ValueError, match=r"given\.tf"):
        hcl('resource "a" "b" {')
