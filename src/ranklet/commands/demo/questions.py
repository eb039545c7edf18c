"""Questions that a newcomer to Python asks, each with the documents that answer it.

The questions and most answers were written before any ranker had seen them, and nothing is tuned on
them. Afterwards the first three documents of every ranker and fusion were read once, and those that
answer the question were added, for all systems alike.
"""

QUESTIONS: dict[str, tuple[str, ...]] = {
    "how do I read a CSV file": ("csv", "csv.reader", "csv.DictReader"),
    "write rows to a spreadsheet file": (
        "csv", "csv.writer", "csv.DictWriter", "csv.writer.writerows", "csv.DictWriter.writerows",
    ),
    "run another program and capture its output": (
        "subprocess", "subprocess.run", "subprocess.check_output", "subprocess.getoutput",
        "subprocess.getstatusoutput", "subprocess.Popen", "subprocess.Popen.communicate",
    ),
    "remove leading whitespace from a multiline string": ("textwrap.dedent", "inspect.cleandoc"),
    "choose random elements from a list without repeating any": (
        "random.sample", "random.Random.sample",
    ),
    "put the elements of a list in random order": ("random.shuffle", "random.Random.shuffle"),
    "remember the results of a function so that it is not called again": (
        "functools.lru_cache", "functools.cache", "functools.cached_property",
    ),
    "parse a JSON string": (
        "json", "json.loads", "json.JSONDecoder", "json.decoder.JSONDecoder",
        "json.decoder.JSONDecoder.decode", "json.decoder.JSONDecoder.raw_decode",
    ),
    "save a dictionary as JSON": (
        "json", "json.dump", "json.dumps", "json.JSONEncoder", "json.encoder.JSONEncoder",
        "json.encoder.JSONEncoder.encode",
    ),
    "make a temporary file": (
        "tempfile", "tempfile.TemporaryFile", "tempfile.NamedTemporaryFile", "tempfile.mkstemp",
        "tempfile.SpooledTemporaryFile",
    ),
    "copy a file": ("shutil", "shutil.copy", "shutil.copy2", "shutil.copyfile"),
    "delete a folder and everything in it": ("shutil.rmtree",),
    "list the files in a directory": (
        "os.listdir", "os.scandir", "os.walk", "pathlib.Path.iterdir", "glob.glob",
        "pathlib.Path.glob",
    ),
    "check whether a file exists": (
        "os.path.exists", "os.path.isfile", "os.path.lexists", "pathlib.Path.exists",
        "pathlib.Path.is_file",
    ),
    "split a string into words": ("str.split", "shlex.split", "re.split"),
    "replace everything in a string that matches a pattern": (
        "re", "re.sub", "re.subn", "re.Pattern.sub",
    ),
    "find all places where a regular expression matches": ("re", "re.findall", "re.finditer"),
    "sort a list": ("sorted", "list.sort"),
    "count how often each item occurs in a list": (
        "collections.Counter", "collections.Counter.most_common", "list.count",
    ),
    "get the current date and time": (
        "datetime.datetime.now", "datetime.datetime.today", "datetime.date.today", "time.time",
        "time.localtime", "datetime.datetime.utcnow",
    ),
    "convert a string to a date": (
        "datetime.datetime.strptime", "time.strptime", "datetime.date.fromisoformat",
        "datetime.datetime.fromisoformat",
    ),
    "wait for a few seconds": ("time.sleep", "asyncio.sleep"),
    "download a web page": (
        "urllib.request", "urllib.request.urlopen", "urllib.request.urlretrieve", "http.client",
    ),
    "send an email": (
        "smtplib", "smtplib.SMTP", "smtplib.SMTP.sendmail", "smtplib.SMTP.send_message",
    ),
    "parse command line arguments": (
        "argparse", "argparse.ArgumentParser", "getopt", "getopt.getopt", "optparse",
        "optparse.OptionParser", "optparse.OptionParser.parse_args",
    ),
    "run several tasks at once in threads": (
        "threading", "threading.Thread", "threading.Thread.start", "concurrent.futures",
        "concurrent.futures.ThreadPoolExecutor",
        "concurrent.futures.thread.ThreadPoolExecutor", "asyncio.to_thread",
        "asyncio.threads.to_thread", "multiprocessing.pool.ThreadPool",
    ),
    "compute the average of a list of numbers": (
        "statistics", "statistics.mean", "statistics.fmean",
    ),
    "square root of a number": ("math.sqrt", "math.isqrt", "cmath.sqrt"),
    "round a number up to the next integer": ("math.ceil",),
    "compress a file": (
        "gzip", "gzip.open", "gzip.compress", "gzip.GzipFile", "bz2", "bz2.open", "bz2.BZ2File",
        "bz2.compress", "lzma", "lzma.open", "lzma.LZMAFile", "lzma.compress", "zlib",
        "zlib.compress", "zipfile",
    ),
    "unpack a zip archive": (
        "zipfile", "zipfile.ZipFile", "zipfile.ZipFile.extractall", "zipfile.ZipFile.extract",
        "shutil.unpack_archive",
    ),
    "generate a random token for a password reset": (
        "secrets", "secrets.token_hex", "secrets.token_urlsafe", "secrets.token_bytes",
    ),
    "open an SQLite database": ("sqlite3", "sqlite3.connect", "sqlite3.Connection"),
    "make a deep copy of an object": ("copy", "copy.deepcopy"),
    "all combinations of the elements of a list": (
        "itertools.combinations", "itertools.combinations_with_replacement", "itertools.product",
        "itertools.permutations",
    ),
    "go through two lists at the same time": ("zip", "itertools.zip_longest", "map"),
    "write messages to a log file": (
        "logging", "logging.basicConfig", "logging.FileHandler", "logging.info",
        "logging.warning", "logging.error", "logging.Logger.info",
        "logging.handlers.RotatingFileHandler",
    ),
    "print a nested data structure so that it is easy to read": (
        "pprint", "pprint.pprint", "pprint.pp", "pprint.pformat", "pprint.PrettyPrinter",
    ),
    "measure how long a piece of code takes": (
        "timeit", "timeit.timeit", "timeit.Timer", "timeit.Timer.timeit", "timeit.default_timer",
        "time.perf_counter", "cProfile", "profile",
    ),
    "start a simple web server": (
        "http.server", "http.server.HTTPServer", "http.server.ThreadingHTTPServer",
        "http.server.SimpleHTTPRequestHandler", "http.server.BaseHTTPRequestHandler",
        "wsgiref.simple_server", "wsgiref.simple_server.make_server",
    ),
}  # fmt: skip
