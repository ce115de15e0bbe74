"""The settings of the experiments: sizes of the projections, models, open choices."""

from __future__ import annotations

import math

import pytest

from dplit_studies.projection import curves


@pytest.mark.claim("proj-secV-statements", "proj-fig1")
def test_projection_sizes_are_those_of_section_five():
    for k in range(1, 21):
        sizes = curves.projection_sizes("fig1", k)
        assert tuple(sizes) == curves.SCHEMES
        assert sizes["linear"] == 500 * (k + 1)
        assert sizes["full"] == 1000 * k
        assert abs(sizes["log"] - 1000 * (math.log(k) + 1)) <= 0.5
        assert max(sizes.values()) == sizes["full"]
    assert set(curves.projection_sizes("fig1", 1).values()) == {1000}


@pytest.mark.claim("proj-secV-statements")
def test_the_logarithmic_size_is_the_larger_one_at_two_positions():
    sizes = [curves.projection_sizes("fig1", k) for k in range(1, 21)]
    assert [k for k, of in enumerate(sizes, 1) if of["log"] > of["linear"]] == [2, 3]


def test_sizes_of_the_digits():
    assert curves.projection_sizes("fig3", 1) == {"log": 500, "linear": 500, "full": 1000}
    assert curves.projection_sizes("fig3", 9)["log"] == 1599
    assert curves.projection_sizes("fig3", 9)["linear"] == 2500


def test_settings_state_the_papers_numbers():
    assert curves.setting("fig1").positions == tuple(range(1, 21))
    assert (curves.setting("fig1").n_features, curves.setting("fig1").epsilons) == (800, (0.5,))
    assert curves.setting("fig2").positions == (10,)
    assert curves.setting("fig2").epsilons[0] == 0.05
    assert curves.setting("fig2").epsilons[-1] == 3.0
    assert 0.5 in curves.setting("fig2").epsilons
    assert curves.setting("fig3").n_features == 300
    assert curves.setting("fig3").epsilons == (0.2,)
    assert all(len(line) == 3 for line in curves.OPEN_CHOICES)


def test_response_models_have_the_stated_signal():
    for name, ratio in (("snr10", 10.0), ("snr1", 1.0), ("noise", 0.0)):
        assert 800 / 3 * curves.RESPONSES[name].coefficient_sd ** 2 == pytest.approx(ratio)
