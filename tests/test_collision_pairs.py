"""Which pairs of a robot's bodies are watched, and the command that says so."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from collision_oracle import CYLINDER, POSTS, distances_at, found
from robot_files import write

from sot.cli import main
from sot.collision.file import write_collisions
from sot.collision.robot import collision_model
from sot.collision.sampling import Distances, Samples
from sot.collision.survey import survey
from sot.errors import ConfigError
from sot.model import Model
from sot.robots import load


@pytest.fixture
def posts(tmp_path: Path):
    return load(write(tmp_path, "posts.urdf", POSTS.format(cylinder=CYLINDER)))


@pytest.mark.parametrize("name", ["ur5", "kinova"])
def test_pairs_against_brute_force(name: str):
    """Over fresh configurations: what never comes close does not, and what is close almost always is not watched."""
    robot, result = load(name), found(name)
    model, bodies = robot.pin_model, [made.body for made in result.bodies]
    home = distances_at(robot, bodies, robot.home)
    nearest = dict.fromkeys(home, np.inf)
    low, high = np.maximum(model.lowerPositionLimit, -7.0), np.minimum(model.upperPositionLimit, 7.0)
    pin.seed(7)
    for _ in range(300):
        q = pin.randomConfiguration(model, low, high)
        for pair, distance in distances_at(robot, bodies, q).items():
            nearest[pair] = min(nearest[pair], distance)
    seen = set()
    for pair in result.pairs:
        names = frozenset(result.names(pair))
        seen.add(names)
        if pair.group in ("neighbours", "srdf"):
            continue
        assert pair.home == pytest.approx(home[names], abs=1e-6)
        assert (pair.group == "home") == (home[names] <= 0.012)
        if pair.group == "far":  # found by samples and a random search: near, not proven
            assert nearest[names] >= pair.nearest - 0.005
        if not pair.group:
            assert pair.nearest <= 0.05
    assert seen == set(home)


def test_neighbours_are_those_of_the_tree():
    result = found("ur5")
    robot, bodies = result.robot, [made.body for made in result.bodies]
    for pair in result.pairs:
        a, b = bodies[pair.first].joint, bodies[pair.second].joint
        parents = robot.pin_model.parents
        assert (pair.group == "neighbours") == (a == b or (b > 0 and parents[b] == a) or (a > 0 and parents[a] == b))


def test_srdf_disables_what_it_says():
    """Panda: the pairs that pinocchio takes out of the geometry are those we call disabled."""
    result = found("panda")
    shapes = result.robot.geometry("collision")
    allowed = {
        frozenset(shapes.geometryObjects[i].name.rsplit("_", 1)[0] for i in (p.first, p.second))
        for p in shapes.collisionPairs
    }
    for pair in result.pairs:
        links = frozenset(result.bodies[i].part.link for i in (pair.first, pair.second))
        if pair.group == "srdf":
            assert links not in allowed
        elif pair.group != "neighbours":
            assert links in allowed
    everything = survey(result.robot, pairs="srdf")
    assert {p.group for p in everything.pairs} <= {"", "neighbours", "srdf", "home"}
    assert len(everything.watched) >= len(result.watched)


def test_a_body_of_several_links_is_disabled_only_for_all_of_them():
    """Panda's SRDF disables the hand against link 5, but not the fingers, which are in the same body here."""
    result = survey(load("panda"), merge=["panda_hand=panda_*finger"], samples=300)
    pairs = {frozenset(result.names(p)): p for p in result.pairs}
    assert pairs[frozenset(("panda_link5", "panda_hand"))].group != "srdf"
    assert pairs[frozenset(("panda_link3", "panda_hand"))].group == "srdf"


def test_links_without_shapes_are_looked_through():
    """G1: between pelvis and torso are three joints whose links have no collision geometry."""
    result = survey(load("g1"), without=["*ankle*", "*wrist*", "*elbow*"], samples=10, shapes="capsule")
    pairs = {frozenset(result.names(p)): p for p in result.pairs}
    assert pairs[frozenset(("pelvis_contour_link", "torso_link"))].group == "neighbours"
    assert pairs[frozenset(("pelvis_contour_link", "left_knee_link"))].group != "neighbours"


def test_the_same_seed_gives_the_same_file():
    robot = load("ur5")
    texts = [write_collisions(survey(robot, samples=200, seed=seed)) for seed in (3, 3)]
    assert texts[0] == texts[1]


def test_near_neighbours_whose_meshes_never_touch_are_not_watched():
    """Kinova's links 2 and 4: the approximations touch for some elbow angles, the meshes for none."""
    pair = next(p for p in found("kinova").pairs if p.group == "meshes")
    assert "meshes never touch" in pair.reason or "meshes touch in none" in pair.reason
    assert pair.close > 0.0 and pair.nearest < 0.01


def test_near_neighbours_that_never_touch_are_not_watched():
    """Kinova's base and link 3 come as close as 3 cm, but never closer: watching them would only slow the arm down."""
    result = found("kinova")
    (pair,) = [p for p in result.pairs if {n[-5:] for n in result.names(p)} == {"_base", "ink_3"}]
    assert pair.group == "far" and 0.01 < pair.nearest < 0.05


def test_a_search_finds_what_few_samples_miss():
    bodies = [made.body for made in found("kinova").bodies]
    few, many = (Distances(Samples(Model(load("kinova")), count, seed=1), bodies) for count in (5, 5000))
    names = [body.name for body in bodies]
    first, second = names.index("j2s6s200_link_1"), names.index("j2s6s200_link_3")
    sampled = few.nearness(first, second, 0.01, far=np.inf).nearest
    searched = few.nearness(first, second, 0.01, far=0.0).nearest
    best = many.nearness(first, second, 0.01, far=np.inf).nearest
    assert searched <= best + 0.002 < sampled


def test_pairs_that_are_almost_always_close_are_not_watched(tmp_path: Path):
    """A long box slides through another, except at the very end of its range, which is home."""
    box = '<collision><origin xyz="{} 0 0"/><geometry><box size="{} 0.1 0.1"/></geometry></collision>'
    joint = (
        '<joint name="{}" type="prismatic"><parent link="{}"/><child link="{}"/><axis xyz="1 0 0"/>'
        '<limit lower="0" upper="{}" effort="1" velocity="1"/></joint>'
    )
    links = {"base": box.format(0, 0.1), "middle": box.format(5, 0.1), "rod": box.format(0.6, 1.02)}
    text = "".join(f'<link name="{name}">{shape}</link>' for name, shape in links.items())
    text += joint.format("j1", "base", "middle", 0.001) + joint.format("j2", "middle", "rod", 1.0)
    file = write(tmp_path, "rod.urdf", f'<robot name="rod">{text}</robot>')
    for reach, group in ((1.0, ""), (0.0, "always")):
        robot = load(file, home={"joints": {"j2": reach}}, limits={"j2": {"position": (-1.0, reach)}})
        result = survey(robot, samples=400)
        (pair,) = [p for p in result.pairs if set(result.names(p)) == {"base", "rod"}]
        assert pair.group == group, pair
    assert pair.reason.startswith("closer than 10 mm in 9") and pair.home > 0.012


def test_corners_are_added_where_the_approximation_is_too_coarse(posts):
    """The posts are 22 mm apart. With 16 corners each they seem closer than the margin; with 32 they do not."""
    result = survey(posts, shapes="convex", corners=16, samples=50)
    sizes = {made.body.name: len(made.form.hull.points) for made in result.bodies}
    assert 16 < sizes["a"] <= 32 and 16 < sizes["b"] <= 32
    (pair,) = [p for p in result.pairs if set(result.names(p)) == {"a", "b"}]
    assert pair.home > 0.012 and pair.group == "far"  # nothing that turns about its own axis comes closer
    coarse = survey(posts, shapes="convex", corners=6, samples=50)
    (pair,) = [p for p in coarse.pairs if set(coarse.names(p)) == {"a", "b"}]
    assert pair.group == "home" and "overlaps at home by" in pair.reason and "meshes are 22 mm apart" in pair.reason


def test_options_choose_shapes_and_pairs(posts):
    result = survey(posts, without=["lid"], samples=10)
    assert {made.part.link for made in result.bodies} == {"a", "b"}
    result = survey(posts, ignore=["lid=a,b"], samples=10)
    assert {result.names(p) for p in result.pairs if p.group == "asked"} == {("a", "lid"), ("b", "lid")}
    for wrong, words in (
        ({"without": ["lidd"]}, "did you mean 'lid'"),
        ({"visual": ["a"]}, "unknown link with visual geometry 'a'"),
        ({"merge": ["a=b"]}, "does not hang on 'a'"),
        ({"merge": ["*=lid"]}, "expected one before '='"),
        ({"ignore": ["a"]}, "expected body=body"),
        ({"pairs": "srdf"}, "has no SRDF"),
    ):
        with pytest.raises(ConfigError, match=words.replace("*", r"\*")):
            survey(posts, samples=10, **wrong)


def test_without_a_file_bodies_are_made_once_and_said_so(posts, capsys):
    model = collision_model(posts)
    first = capsys.readouterr().err
    assert "robot 'posts' has no collision file" in first and "sot collisions" in first and first.count("\n") == 1
    assert collision_model(posts) is model and capsys.readouterr().err == ""
    assert [body.name for body in model.bodies] == ["a", "b", "lid"]


# -- the command ---------------------------------------------------------------------------------------


def test_command_writes_a_file_that_works(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["collisions", "ur5", "--samples", "300"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    for words in ("7 bodies", "inflation", "pairs are watched", "disabled by the SRDF", "ee_link (in wrist_3_link)"):
        assert words in out
    text = (tmp_path / "ur5.collisions.yaml").read_text(encoding="utf-8")
    assert text.startswith("# Collision bodies of ur5, made by:\n#   sot collisions ur5 --samples 300\n")
    assert all(len(line) <= 130 for line in text.splitlines())
    assert len(collision_model(load("ur5", collisions="ur5.collisions.yaml")).bodies) == 7
    assert main(["collisions", "ur5"]) == 2
    assert "there is such a file already" in capsys.readouterr().err


def test_command_ends_with_json(tmp_path: Path, capsys):
    file = str(tmp_path / "out.yaml")
    arguments = ["collisions", "panda", "--merge", "panda_hand=panda_*finger", "--samples", "200", "--output", file]
    assert main([*arguments, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert facts["robot"] == "panda" and facts["file"] == file and len(facts["bodies"]) == 9
    assert {"name", "links", "kind", "radius", "inflation", "volume_ratio"} <= set(facts["bodies"][0])
    assert len(facts["pairs"]) + len(facts["dropped"]) == 36
    assert all(drop["reason"] and drop["group"] for drop in facts["dropped"])
    assert "'panda_hand=panda_*finger'" in Path(file).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nobody"], "unknown robot 'nobody'"),
        (["ur5", "--corners", "3"], "--corners: expected a number from 4 to 200, got 3"),
        (["ur5", "--margin", "nan"], "--margin: expected a number from 0 to 1"),
        (["ur5", "--seed", "-1"], "--seed"),
        (["ur5", "--merge", "tool"], "unknown link with a shape 'tool'"),
        (["g1", "--pairs", "srdf"], "has no SRDF that disables pairs"),
        (["ur5", "--samples", "10", "--output", "/nowhere/at/all.yaml"], "cannot be written"),
    ],
)
def test_command_names_mistakes(arguments: list[str], words: str, tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["collisions", *arguments]) == 2
    assert words in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
