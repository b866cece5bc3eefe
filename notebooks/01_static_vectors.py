# %% [markdown]
# # Look up a word's one vector
#
# > What does a computer know about a word when it knows the company the word keeps?
#
# *50 minutes · 80 MB · 1.0 GB of memory · CPU · builds on nothing*
#
# [Open this lesson in Colab](https://colab.research.google.com/github/OWNER/how-words-get-their-vectors/blob/main/notebooks/01_static_vectors.ipynb)
#
# **What you'll do.** Look up words in GloVe, a table with one vector for each of 400,000 words, and
# find out what the table knows and what it cannot know.
#
# **What you'll learn.** To compare vectors by their angle; to read a list of nearest neighbours; to
# see what happens to a word with two meanings; to judge analogies and similarity scores; to say why
# a look-up costs next to nothing.
#
# **What you'll need.** Python. No mathematics beyond adding and multiplying.

# %% tags=["hide-input", "setup"]
# Set-up: does nothing where the course is installed; in Colab it installs what is missing.
import importlib.util
import os
import subprocess
import sys

SOURCE = os.environ.get(
    "COURSE_SOURCE",
    "git+https://github.com/OWNER/how-words-get-their-vectors",
)
try:
    installed = importlib.util.find_spec("utils.contextual") is not None
except ModuleNotFoundError:
    installed = False
if not installed:
    pip = [sys.executable, "-m", "pip", "install", "--quiet", SOURCE]
    done = subprocess.run(pip, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(
            f"The course could not be installed from {SOURCE}:\n{done.stderr}"
        )
    importlib.invalidate_caches()

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from gensim.models import Word2Vec
from gensim.test.utils import datapath

from utils import checks, corpora, plotting, static

plotting.use_style()

# %%
SEED = 1  # for the small model that is trained below
N_FREQUENT = 30_000  # how many words the analogies may choose from

# %% [markdown]
# ## What is a word vector?
#
# A **word vector** is a list of numbers that stands for a word. A table of them is a function
#
# $$f: V \to \mathbb{R}^{d}$$
#
# which takes a word of the vocabulary $V$ and returns $d$ numbers. The same word always gets the same
# numbers, whatever sentence it stands in. That is why such vectors are called **static**.
#
# Here is a toy table with $d = 2$, small enough to draw. Suppose somebody counted how often each word
# stands near *money* (first number) and near *water* (second number).

# %%
toy = {
    "loan": np.array([9.0, 1.0]),
    "cheque": np.array([4.0, 0.0]),
    "river": np.array([1.0, 8.0]),
    "boat": np.array([1.0, 3.0]),
    "bank": np.array([8.0, 3.0]),
}

# %% [markdown]
# ## How alike are two vectors?
#
# *Loan* was counted more often than *cheque*, so its arrow is longer. But both point the same way, and
# the direction is what tells money words from water words. So we compare directions: the **cosine** of
# the angle between two vectors,
#
# $$\cos(\mathbf{a}, \mathbf{b}) = \frac{\mathbf{a} \cdot \mathbf{b}}{\lVert \mathbf{a} \rVert \, \lVert \mathbf{b} \rVert}.$$
#
# Multiply the numbers pair by pair and add up; then divide by both lengths. The result lies between
# $-1$ and $1$: 1 for the same direction, 0 for a right angle, $-1$ for opposite directions. By hand, for
# *cheque* $(4, 0)$ and *bank* $(8, 3)$: the product is $4 \cdot 8 + 0 \cdot 3 = 32$, the lengths are 4
# and $\sqrt{73}$, and $32 / (4 \sqrt{73})$ is what the cell prints first.


# %%
def cosine(a, b):
    """Return the cosine of the angle between two vectors."""
    dot = sum(x * y for x, y in zip(a, b))
    length_a = sum(x * x for x in a) ** 0.5
    length_b = sum(y * y for y in b) ** 0.5
    return dot / (length_a * length_b)


print(f"cheque and bank: {cosine(toy['cheque'], toy['bank']):.3f}")
print(f"river  and bank: {cosine(toy['river'], toy['bank']):.3f}")

# %% [markdown]
# The picture says the same. The angle between *bank* and the money words is small, between *bank* and
# the water words large; how long the arrows are plays no part.

# %% mystnb={"figure": {"caption": "The toy table as arrows. Bank points nearly where the money words point: the angle is small, whatever the lengths."}, "image": {"alt": "Five arrows from the origin. Loan, cheque and bank point to the right, towards money; boat and river point up, towards water. Bank is tilted a little towards water."}}
fig, ax = plt.subplots(figsize=(5.6, 4.4))
for word, (x, y) in toy.items():
    ax.annotate(
        "",
        (x, y),
        (0, 0),
        arrowprops={"arrowstyle": "-|>", "lw": 2, "color": "#0072B2"},
    )
    ax.annotate(word, (x, y), xytext=(6, -3), textcoords="offset points")
ax.set(
    xlim=(0, 10.5),
    ylim=(-0.5, 9),
    xlabel="seen near money",
    ylabel="seen near water",
)
plt.show()

# %% [markdown]
# From here on we import this function from the course's helpers. It computes the same, and refuses
# vectors that have no direction: a vector of zeros gives an error instead of a silent number.

# %%
from utils.geometry import cosine

print(f"cheque and bank: {cosine(toy['cheque'], toy['bank']):.3f}")

# %% [markdown]
# ### Exercise 1 · Code · 8 minutes
#
# Write `nearest(word, table)`: it returns the word of the table whose vector has the largest cosine with
# that of `word`, other than the word itself.


# %% tags=["exercise"]
def nearest(word, table):
    return ...  # your answer


# %% tags=["check"]
checks.nearest(nearest)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Go through all words of the table but one. For each, compute `cosine(table[word], table[other])`.
#
# </details>
# <details><summary>Hint 2</summary>
#
# `max` takes a `key`: a function that says by what to compare.
#
# </details>
# <details><summary>Solution</summary>
#
# ```python
# def nearest(word, table):
#     others = [other for other in table if other != word]
#     return max(others, key=lambda other: cosine(table[word], table[other]))
# ```
#
# </details>

# %% [markdown]
# ## What do real vectors look like?
#
# **GloVe** made such a table from six billion words of Wikipedia and newspaper text
# {cite}`pennington2014glove`. It counted which words stand near which, then looked for 50 numbers per
# word from which the logarithms of those counts can roughly be had back. Nobody chose what the 50 numbers mean.

# %%
glove = static.load_glove()
print(f"{len(glove):,} words, {glove.vector_size} dimensions")
print("bank:", np.round(static.vector(glove, "bank")[:6], 2), "...")

# %% [markdown]
# One number on its own says nothing. But vectors can be compared. **Predict first:** which six words
# would you expect to be closest to *bank*?

# %% tags=["anchor"]
for word, value in static.neighbours(glove, "bank", 6):
    print(f"{value:.3f}  {word}")

# %% [markdown]
# Every one of them is about money. Banks of rivers are missing altogether, and so is everything that
# GloVe read about them, or so it seems. We shall look for the river below.
#
# A word that is not in the table has no vector. GloVe's vocabulary is lower-case, so *Bank* is one of
# them, and the helper says so rather than guessing:

# %%
try:
    static.vector(glove, "Bank")
except static.UnknownWordError as error:
    print(error)

# %% [markdown]
# ### Near is not the same as alike
#
# GloVe puts words close together that share contexts. *Hot* and *cold* share nearly all of them: weather,
# water, drinks. So opposites are close, sometimes closer than words that mean the same.

# %%
pairs = [
    ("increase", "decrease"),
    ("hot", "cold"),
    ("good", "bad"),
    ("car", "automobile"),
]
for a, b in pairs:
    print(f"{static.similarity(glove, a, b):.3f}  {a}, {b}")

# %% [markdown]
# And how far apart are words picked at random? To read a cosine one has to know
# this **chance band**: here, the middle 90% of the cosines of pairs drawn at random from the 20,000
# most frequent words.

# %%
frequent = glove.get_normed_vectors()[:20_000]
rng = np.random.default_rng(SEED)
i, j = rng.integers(len(frequent), size=(2, 50_000))
chance = (frequent[i] * frequent[j]).sum(axis=1)[i != j]
low, high = np.percentile(chance, [5, 95])
print(f"90% of random pairs lie between {low:.2f} and {high:.2f}")
print(f"their mean is {chance.mean():.2f}")

# %% [markdown]
# A cosine of 0.4 between two words of GloVe is thus no news. Keep this scale for GloVe alone: other
# vectors have other scales, as lesson 2 shows.
#
# ### Exercise 2 · Think · 5 minutes
#
# A colleague says: "*Hot* and *cold* have a high cosine, so GloVe thinks they are synonyms." What is wrong
# with that sentence?
#
# <details><summary>Solution</summary>
#
# GloVe has no relation "means the same". Its cosine grows with the contexts that two words share, and
# opposites share most of theirs. A high cosine says "used in the same places", no more.
#
# </details>

# %% [markdown]
# ## Where did the river go?
#
# *Bank* has two meanings and one vector. We ask how close that vector is to a word for each of its
# meanings, and do the same for four other **homonyms**, words whose meanings have nothing to do with each
# other. **Predict first:** which meaning wins for *spring*
# (season or coil), *bass* (instrument or fish), *seal* (stamp or animal) and *match* (game or light)?

# %%
senses = {  # a word, and a cue for each of two meanings
    "bank": ("money", "river"),
    "spring": ("summer", "coil"),
    "bass": ("guitar", "fish"),
    "seal": ("stamp", "otter"),
    "match": ("game", "candle"),
}
rows = [
    (word, *cues, *(static.similarity(glove, word, cue) for cue in cues))
    for word, cues in senses.items()
]
table = pd.DataFrame(
    rows, columns=["word", "cue 1", "cue 2", "cosine 1", "cosine 2"]
)
table.round(3)

# %% [markdown]
# As a picture, with the chance band behind it:

# %% mystnb={"figure": {"caption": "With these cues, each homonym stands closer to one meaning than to the other, and four of the five second cues lie in the chance band (grey)."}, "image": {"alt": "For five words a line joins two points, the cosine with a cue for each meaning. Bank: money 0.64, river 0.41. Spring: summer 0.90, coil 0.27. Bass: guitar 0.86, fish 0.45. Seal: stamp 0.56, otter 0.16. Match: game 0.78, candle 0.03. The grey chance band ends at about 0.43."}}
fig, ax = plt.subplots()
ax.axvspan(low, high, color="0.9", label="random pairs")
for y, (word, cue_1, cue_2, cosine_1, cosine_2) in enumerate(rows[::-1]):
    ax.plot([cosine_1, cosine_2], [y, y], color="0.6", zorder=1)
    for x, cue, style in zip(
        (cosine_1, cosine_2), (cue_1, cue_2), plotting.SENSE_STYLE
    ):
        ax.scatter(x, y, s=60, zorder=2, **style)
        ax.annotate(
            cue,
            (x, y),
            xytext=(0, 8),
            textcoords="offset points",
            ha="center",
        )
ax.set_yticks(range(len(rows)), [row[0] for row in rows[::-1]])
ax.set(
    xlabel="cosine with the word (grey: random pairs)",
    xlim=(-0.25, 1),
    ylim=(-0.5, 4.6),
)
plt.show()

# %% [markdown]
# One meaning wins, presumably the one that the texts use more. By its cosine, *river* can no longer be told
# from a word picked at random. But another word of the same meaning can: *shore* stands above the band. So
# the choice of the cue matters, and one cue is not enough to say that a meaning is gone.

# %%
for cue in ("money", "shore", "river"):
    value, rank = (
        static.similarity(glove, "bank", cue),
        glove.rank("bank", cue),
    )
    print(f"{value:.3f}  {cue}, neighbour number {rank:,} of bank")

# %% [markdown]
# **Why.** To a good approximation, a word's static vector is a weighted mean of the vectors its senses
# would have had, each with a weight that grows with how often the sense occurs {cite}`arora2018linear`.
# In our toy table, mix nine parts *loan* with one part *river*, and the river all but disappears:

# %%
for share in (0.5, 0.1):
    mixed = (1 - share) * toy["loan"] + share * toy["river"]
    to_loan, to_river = (
        cosine(mixed, toy["loan"]),
        cosine(mixed, toy["river"]),
    )
    print(f"{share:.0%} river: {to_loan:.3f} loan, {to_river:.3f} river")

# %% [markdown]
# The average meaning is the majority meaning. What this does not show: whether the two senses can be
# taken apart again. They can, in part; the paper cited above does it.
#
# ### Exercise 3 · Explore · 10 minutes
#
# Find a word that kept **both** of its meanings: a cosine of at least 0.5 with a cue for each, while the
# two cues have at most 0.3 with each other.

# %% tags=["exercise"]
answer = (
    ...,
    ...,
    ...,
)  # your word, a cue for one meaning, a cue for the other

# %% tags=["check"]
checks.two_senses(glove, answer)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Try words whose meanings are about equally frequent in newspapers and in an encyclopaedia. Companies
# named after things are a good place to look.
#
# </details>
# <details><summary>Solution</summary>
#
# ```python
# answer = ("apple", "computer", "fruit")
# ```
#
# *Cell* with *phone* and *tissue* works too, and *organ* with *kidney* and *piano*.
#
# </details>

# %% [markdown]
# ## What if we train our own?
#
# **word2vec** learns such a table by predicting words from their neighbours {cite}`mikolov2013efficient`.
# gensim trains one in seconds {cite}`rehurek2010software`, here on the Lee corpus, 300 short news texts
# {cite}`lee2005empirical`. It sees every text 20 times.

# %%
lee = corpora.lee()
words = [
    [word.text.lower() for word in corpora.words_in(text)]
    for text in lee.sentences
]
small = Word2Vec(
    words, vector_size=50, min_count=5, epochs=20, seed=SEED, workers=1
).wv
print(f"{sum(map(len, words)):,} words of text")
print(f"{len(small):,} words in the table")
print(
    "bank:",
    ", ".join(word for word, _ in static.neighbours(small, "bank", 5)),
)

# %% [markdown]
# *Gaza*? *Strip*? The corpus is news from around the end of 2001, and its banks are mostly not banks:

# %%
banks = [
    word
    for text in words
    for word, after in zip(text, text[1:])
    if after == "bank"
]
print(f"bank: {sum(text.count('bank') for text in words)} times")
print(pd.Series(banks).value_counts().head(3).to_string())

# %% [markdown]
# So the vector is right about its texts, and its texts are about the *West Bank*. With some dozens of
# occurrences, whatever the corpus happens to be about becomes what the word means.
#
# There is a second trouble. In this small table all vectors point much the same way, so that cosines
# are high for any pair and say little. The mean cosine of all pairs shows it, over the words that both
# tables have:


# %%
def mean_cosine(vectors, words):
    """Return the mean cosine of all pairs of these words."""
    unit = np.stack(
        [vectors.get_vector(word, norm=True) for word in words]
    ).astype(float)
    n = len(unit)
    return (np.square(unit.sum(axis=0)).sum() - n) / (n * (n - 1))


shared = [word for word in small.index_to_key if word in glove]
print(f"{len(shared):,} words in both tables")
for name, vectors in [("Lee", small), ("GloVe", glove)]:
    print(f"mean cosine in {name}: {mean_cosine(vectors, shared):.2f}")

# %% [markdown]
# Remember the number of the small table. A high mean cosine says that the vectors share a common direction,
# whatever the words mean.

# %% [markdown]
# ## Do analogies work?
#
# *Man is to king as woman is to …?* Take the vector of *king*, subtract *man*, add *woman*, and look for
# the nearest word {cite}`mikolov2013linguistic`. The answer that made static vectors famous comes out.

# %%
for exclude in (True, False):
    found = static.analogy(
        glove, "man", "king", "woman", 3, exclude_inputs=exclude
    )
    print(
        f"inputs {'left out' if exclude else 'allowed '}:",
        ", ".join(word for word, _ in found),
    )

# %% [markdown]
# Look at the second line. The nearest word to the result is *king* itself, and *queen* wins only because
# nearly every program leaves the three words of the question out {cite}`linzen2016issues`. How much of
# the success is due to that rule? We ask the questions that came with word2vec, and let each choose among
# the 30,000 most frequent words; questions with a rarer word are left out.

# %%
sections = {}
with open(datapath("questions-words.txt"), encoding="utf-8") as file:
    for line in file:
        if line.startswith(":"):
            section = sections.setdefault(line[2:].strip(), [])
        else:
            section.append(line.lower().split())
print(
    len(sections),
    "sections,",
    f"{sum(map(len, sections.values())):,} questions",
)

# %% [markdown]
# All questions of a section are answered at once: one matrix product gives the score of every word for
# every question.

# %%
unit = glove.get_normed_vectors()[:N_FREQUENT]


def answers(questions, exclude):
    """Return the answers, and the words of each question, as rows."""
    rows = np.array(
        [
            [glove.key_to_index[word] for word in question]
            for question in questions
        ]
    )
    a, b, c = (unit[rows[:, k]] for k in range(3))
    scores = (b - a + c) @ unit.T
    if exclude:
        np.put_along_axis(scores, rows[:, :3], -np.inf, axis=1)
    return scores.argmax(axis=1), rows


# %% [markdown]
# **Predict first:** the share of right answers with the words of the question left out, and with them
# allowed, for capitals (*Athens* to *Greece* as *Baghdad* to …), family words, comparatives and the past
# tense (*walking* to *walked* as *going* to …). The last column says how often the answer, with the inputs allowed, is just the third word of the
# question.

# %%
kinds = [
    "capital-common-countries",
    "family",
    "gram3-comparative",
    "gram7-past-tense",
]
results = {}
for kind in kinds:
    known = [
        q
        for q in sections[kind]
        if all(glove.key_to_index.get(w, 9e9) < N_FREQUENT for w in q)
    ]
    strict, rows = answers(known, exclude=False)
    usual, _ = answers(known, exclude=True)
    right = (usual == rows[:, 3], strict == rows[:, 3])
    third = strict == rows[:, 2]
    percent = [round(100 * x.mean()) for x in (*right, third)]
    results[kind] = [len(known), *percent]
columns = ["questions", "% left out", "% allowed", "% third word"]
scores = pd.DataFrame.from_dict(results, orient="index", columns=columns)
scores

# %% [markdown]
# The same as bars:

# %% mystnb={"figure": {"caption": "Leaving out the three words of the question makes much of the success, least for capitals and most for the past tense."}, "image": {"alt": "Two bars for each of four kinds of question. Capitals: 80 per cent right with the inputs left out, 62 with them allowed. Family: 76 and 52. Comparatives: 52 and 25. Past tense: 38 and 10."}}
fig, ax = plt.subplots()
y = np.arange(len(scores))
ax.barh(y + 0.2, scores[columns[1]], 0.38, color="#0072B2")
ax.barh(y - 0.2, scores[columns[2]], 0.38, color="#E69F00", hatch="//")
for height, column, text in [
    (0.2, columns[1], "inputs left out"),
    (-0.2, columns[2], "inputs allowed"),
]:
    ax.annotate(text, (scores[column].iloc[0] + 1, height), va="center")
ax.set_yticks(y, kinds)
ax.set(xlabel="right answers, %", xlim=(0, 100))
plt.show()

# %% [markdown]
# For the past tense, most answers are simply the third word of the question. The step from $a$ to $b$ is short, so the result stays next to $c$, and leaving out $c$ does much
# of the work.
#
# This matters beyond puzzles. *Man is to doctor as woman is to …* is often quoted as answering *nurse*;
# with the inputs allowed, the answer is *doctor* {cite}`nissim2020fair`. That does not prove that the
# table is free of bias. It shows that this test measures the rule as well as the table.

# %%
for exclude in (True, False):
    found = static.analogy(
        glove, "man", "doctor", "woman", 2, exclude_inputs=exclude
    )
    print(
        f"inputs {'left out' if exclude else 'allowed '}:",
        ", ".join(word for word, _ in found),
    )

# %% [markdown]
# ## Does GloVe agree with people?
#
# Two lists of word pairs, rated by people. **WordSim-353** asked how *related* two words are
# {cite}`finkelstein2002placing`; **SimLex-999** asked how *similar* they are, and told its raters that
# related is not enough {cite}`hill2015simlex`. The score is
# **Spearman's correlation** ρ: do both put the pairs into the same order? Beside it stands the
# **coverage**, the share of pairs of which GloVe knows both words.


# %%
def score(name):
    """Return Spearman's rho with people's ratings, and the coverage."""
    _, spearman, missing = glove.evaluate_word_pairs(
        datapath(name), restrict_vocab=len(glove)
    )
    return spearman.statistic, 1 - missing / 100


for title, name in [
    ("WordSim-353", "wordsim353.tsv"),
    ("SimLex-999", "simlex999.txt"),
]:
    rho, covered = score(name)
    print(f"{title}: rho {rho:.2f}, coverage {covered:.1%}")

# %% [markdown]
# GloVe agrees better with the ratings of relatedness. That fits what it counts: shared contexts. (The lists
# also differ in their words, and in how well their raters agree.) One pair shows it. People gave *hard* and *easy* a similarity of 0.95 on SimLex's scale from 0
# to 10, and *hard* and *difficult* 8.77:

# %%
for a, b in [("hard", "easy"), ("hard", "difficult")]:
    print(f"{static.similarity(glove, a, b):.3f}  {a}, {b}")

# %% [markdown]
# What these scores do not show: how the vectors do in a task. They rest on 353 and 999 pairs, and
# on WordSim-353 GloVe with 300 dimensions scores higher {cite}`pennington2014glove`.

# %% [markdown]
# ## The same at three depths

# %% [markdown] tags=["depth-beginner"]
# ### In plain words
#
# Imagine a map on which words live near the words they are used with. GloVe drew such a map for 400,000
# words. Every word has one place on it and keeps it for ever. A word with two meanings has to live
# somewhere in between, and it ends up near the meaning that is used more. Nobody can tell from the map
# which of the two is meant in a sentence, because the map has never heard of the sentence.

# %% [markdown] tags=["depth-developer"]
# ### In code
#
# The whole thing is a dictionary and an array. The dictionary gives the row number, the array the row:

# %% tags=["depth-developer"]
row = glove.key_to_index["bank"]
print(
    "row",
    row,
    "of an array of shape",
    glove.vectors.shape,
    glove.vectors.dtype,
)
print(
    "same numbers:",
    np.array_equal(glove.vectors[row], static.vector(glove, "bank")),
)

# %% [markdown] tags=["depth-developer"]
# Both steps take the same time for a table of any size: a look-up is $O(1)$ in the number of words, plus
# the $d$ numbers to copy. Finding neighbours is another matter. It compares one vector with all
# $\lvert V \rvert$ rows, $O(\lvert V \rvert \cdot d)$; gensim does it with one matrix product. The table
# itself weighs $\lvert V \rvert \cdot d \cdot 4$ bytes, 80 MB here.

# %% [markdown] tags=["depth-researcher"]
# ### In theory
#
# GloVe fits vectors $\mathbf{w}_i$ and context vectors $\mathbf{c}_j$ to the logarithm of the counts
# $X_{ij}$ of word $j$ near word $i$, by weighted least squares {cite}`pennington2014glove`:
#
# $$J = \sum_{i,j} h(X_{ij}) \left( \mathbf{w}_i \cdot \mathbf{c}_j + b_i + b'_j - \log X_{ij} \right)^2 .$$
#
# The weight $h$ grows with the count up to a limit and is 0 where the count is 0. So a word's vector is a
# summary of its row of the co-occurrence table, and that row is a sum over **all** its occurrences. For
# two senses with counts $X^{(1)}$ and $X^{(2)}$, $X_{ij} = X^{(1)}_{ij} + X^{(2)}_{ij}$: the senses are
# added before anything is learned. Part of the sum can be recovered
# {cite}`arora2018linear`, but no $f: V \to \mathbb{R}^d$ can say which sense is meant here, since its only
# argument is the word. word2vec's skip-gram with negative sampling, at its optimum and with enough dimensions,
# implicitly factorises a shifted table of pointwise mutual information {cite}`levy2014neural`, and the same holds.
# Lesson 2 changes the argument: from the word to the word in its sentence.

# %% [markdown]
# ## Summary
#
# - Compare vectors by their **angle**. The cosine lies in [−1, 1], and each kind of vector has its own
#   chance band, which must be known before a cosine is read.
# - A list of **nearest neighbours** shows shared contexts: related words, and opposites among them.
# - A word with **two meanings** gets one vector, near the meaning that the texts use more.
# - **Analogies** owe much of their success to leaving out the words of the question; **similarity scores**
#   depend on what people were asked, and need their coverage beside them.
# - A **look-up** is one row of an array: its cost does not grow with the vocabulary.
#
# ## Common mistakes
#
# - *Looking up `Bank`.* The vocabulary is lower-case. Lower-case your text knowingly, and count what is
#   missing all the same.
# - *Reading a high cosine as "means the same".* Opposites are close.
# - *Comparing a cosine of GloVe with a cosine of another model.* The scales differ.
# - *Replacing missing words by zeros.* A vector of zeros has no direction; leave the word out and count it.
# - *Believing the neighbours of a rare word.* A vector made from some dozens of occurrences describes those
#   occurrences.
#
# ## Further reading
#
# - {cite}`pennington2014glove`: GloVe itself, with the reasoning behind the logarithm of the counts.
# - {cite}`levy2014neural`: why predicting words and counting them come to much the same.
# - {cite}`linzen2016issues`: what analogies measure, in six pages.
# - {cite}`arora2018linear`: how several senses lie in one vector, and how to get them out.
