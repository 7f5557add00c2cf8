"""Curves as TensorBoard reads them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from training.pictures import draw_calls, draw_png
from training.progress import Curves


def read(folder: Path) -> EventAccumulator:
    found = EventAccumulator(str(folder), size_guidance={"tensors": 0, "images": 0, "scalars": 0})
    found.Reload()
    return found


def test_what_is_added_is_there_at_once(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    png = draw_png(lambda axes: draw_calls(axes, {"a": {0: (3, 0.5, 0.6), 2: (1, 2.0, 1.0)}}))
    with Curves(tmp_path / "run") as curves:
        curves.add({"a": 1.5, "b/c": -2.0}, 10)
        curves.add_text("text", "one *line*\n  another", 10)
        curves.add_png("picture", png, 10)
        found = read(tmp_path / "run")
    assert [(event.step, event.value) for event in found.Scalars("a")] == [(10, 1.5)]
    assert [(event.step, event.value) for event in found.Scalars("b/c")] == [(10, -2.0)]
    text = found.Tensors("text/text_summary")[0].tensor_proto.string_val[0].decode()
    assert text == "    one *line*\n      another"
    image = found.Images("picture")[0]
    assert (image.width, image.height, image.encoded_image_string) == (840, 600, png)


def test_a_run_that_goes_on_forgets_what_came_after_its_checkpoint(tmp_path: Path) -> None:
    with Curves(tmp_path) as curves:
        for step in (1, 2, 3):
            curves.add({"a": step}, step)
    with Curves(tmp_path, since=1) as curves:
        curves.add({"a": 20}, 2)
    assert [(event.step, event.value) for event in read(tmp_path).Scalars("a")] == [(1, 1), (2, 20)]
    assert len(list(tmp_path.iterdir())) == 2


def test_without_a_folder_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with Curves(None) as curves:
        curves.add({"a": 1.0}, 1)
        curves.add_text("text", "x", 1)
        curves.add_png("picture", b"", 1)
    assert not list(tmp_path.iterdir())
