// Compare the graphs of an export with its parity.json: node check.mjs FOLDER
// It needs the package onnxruntime-node. FOLDER is what `export-onnx --layout hub` wrote, or
// rankers/NAME of a bundle.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import ort from "onnxruntime-node";

const folder = process.argv[2];
const parity = JSON.parse(readFileSync(join(folder, "parity.json"), "utf8"));

function tensor(rows) {
  const ids = BigInt64Array.from(rows.flat().map(BigInt));
  return new ort.Tensor("int64", ids, [rows.length, rows[0].length]);
}

for (const { files, output, runs } of parity.graphs) {
  for (const [variant, tolerance] of Object.entries(parity.tolerances)) {
    if (!(variant in files)) continue;
    const session = await ort.InferenceSession.create(join(folder, files[variant]));
    let worst = 0;
    for (const { inputs, at, values } of runs) {
      const known = Object.entries(inputs).filter(([name]) => session.inputNames.includes(name));
      const feeds = Object.fromEntries(known.map(([name, rows]) => [name, tensor(rows)]));
      const { data } = (await session.run(feeds, [output]))[output];
      const stored = values[variant];
      const largest = Math.max(1, ...stored.map(Math.abs));
      at.forEach((place, i) => (worst = Math.max(worst, Math.abs(data[place] - stored[i]) / largest)));
    }
    console.log(`${files[variant]}: ${runs.length} runs differ by ${worst.toExponential(1)} at most`);
    if (!(worst <= tolerance)) process.exitCode = 1;
  }
}
