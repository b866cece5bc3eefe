# %% [markdown]
# # Give a word a new vector in every sentence
#
# > What changes when the vector is made from the whole sentence?
#
# *60 minutes · 91 MB · 1.3 GB of memory · CPU · builds on lesson 1*
#
# [Open this lesson in Colab](https://colab.research.google.com/github/OWNER/how-words-get-their-vectors/blob/main/notebooks/02_contextual_vectors.ipynb)
#
# **What you'll do.** Run sentences through MiniLM, a small but real language model, take out the vector
# of *bank* at every layer, and measure how much the sentence changed it.
#
# **What you'll learn.** To mix vectors by attention; to get a word's vector out of a model; to read a
# cosine against chance; to test whether a small gap is real; to avoid the usual mistakes with pieces,
# padding and scales.
#
# **What you'll need.** Lesson 1, above all the cosine. A laptop's processor is enough.

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

from utils import checks, contextual, corpora, models, plotting
from utils.geometry import cosine, cosine_matrix

plotting.use_style()

# %%
SEED = 1
N_CHANCE = 2_000  # words drawn for the chance band
N_SHUFFLES = 1_000  # how often the senses are shuffled in the test

# %% [markdown]
# ## How can a sentence change a vector?
#
# Lesson 1 ended with a limit: $f(w)$ sees only the word. A **contextual** vector is made by a function
# that sees the whole sentence,
#
# $$g: V^{n} \to \mathbb{R}^{n \times d},$$
#
# $n$ words in, $n$ vectors out, each of which may depend on all the words. The heart of such a function
# is **attention**: every vector is replaced by a weighted mean of all vectors of the sentence, and the
# weights say how well two vectors match. Here it is in its barest form, on words with two numbers, one
# for money and one for water.

# %%
toy = {"money": [2.0, 0.0], "river": [0.0, 2.0], "bank": [1.2, 0.8]}


def attend(vectors):
    """Replace every row by a mean of all, weighted by similarity."""
    scores = vectors @ vectors.T / np.sqrt(vectors.shape[1])
    weights = np.exp(scores)
    weights /= weights.sum(axis=1, keepdims=True)
    return weights @ vectors


for neighbour in ("money", "river"):
    sentence = np.array([toy[neighbour], toy["bank"]])
    print(f"bank beside {neighbour}: {attend(sentence)[1].round(2)}")

# %% [markdown]
# Check the first line by hand. *Bank* matches itself with $1.2^2 + 0.8^2 = 2.08$ and *money* with
# $1.2 \cdot 2 = 2.4$. Divided by $\sqrt{2}$ and put through the exponential, these become weights of 0.44
# and 0.56 (they add up to 1), and $0.44 \cdot (1.2, 0.8) + 0.56 \cdot (2, 0)$ is about $(1.65, 0.35)$.
#
# One word, two sentences, two vectors. That is the whole idea. A real model does it with more numbers,
# with weights it has learned, several times in parallel, and in several **layers**, one after the other
# {cite}`vaswani2017attention`.

# %% [markdown]
# ## What does a real model do with bank?
#
# **MiniLM**, here all-MiniLM-L6-v2, has six such layers and 384 numbers for each piece of text, cut down from
# a model made by {cite}`wang2020minilm`. It was then trained, in the manner of {cite}`reimers2019sentence`, so
# that the cosine of two **sentence** vectors tells whether two texts belong together. Here are three
# sentences. One bank is by a river, two deal in money.

# %%
minilm = models.load("minilm")
sentences = [
    "i sat on the river bank and watched the boats",
    "i deposited the cheque at the bank",
    "the money is safe in my bank account",
]
names = ["river", "deposit", "account"]
bank = contextual.word_vectors(minilm, sentences, "bank")
print("layers, sentences, numbers:", bank.vectors.shape)

# %% [markdown]
# GloVe would give cosines of exactly 1: it is one vector. **Predict first:** which of the three pairs has
# the highest cosine in MiniLM, and will any be below 0.5?

# %% tags=["anchor"]
last = bank.vectors[-1]
for i, j in [(0, 1), (0, 2), (1, 2)]:
    print(f"{cosine(last[i], last[j]):.3f}  {names[i]} and {names[j]}")

# %% [markdown]
# As a table of colours, where GloVe's would be one even blue:

# %% mystnb={"figure": {"caption": "Three times bank in MiniLM's last layer. The two money banks are the closest pair, but all three are close."}, "image": {"alt": "A table of cosines, three by three. River and deposit 0.73, river and account 0.69, deposit and account 0.81; 1 on the diagonal."}}
fig, ax = plt.subplots(figsize=(5.4, 4.2))
plotting.cosine_heatmap(ax, cosine_matrix(last), names)
plt.show()

# %% [markdown]
# The order is as hoped: the two money banks are the closest pair. The **gap** is real in this example, and
# it is small. All three cosines are high. Is 0.69 much or little?

# %% [markdown]
# ## How high is high?
#
# A cosine means nothing without a scale. So we measure a **chance band**: take 2,000 words at random from
# the 672 homonym sentences of this course, compare those that are different words in different sentences,
# and note where the middle 90% of their cosines lie, layer by layer.

# %%
homonyms = corpora.homonyms()
found, vectors = [], []
for occurrences, batch in contextual.embed_words(minilm, homonyms.sentence):
    found += occurrences
    vectors.append(batch)
vectors = np.concatenate(vectors, axis=1)
print(f"{vectors.shape[1]:,} words in {len(homonyms)} sentences")

# %% [markdown]
# The helper gives the words in batches of similar length. They are put back into the order of the text
# first, so that the draw is the same however the batches were made.

# %%
rng = np.random.default_rng(SEED)
order = sorted(
    range(len(found)), key=lambda k: (found[k].sentence, found[k].start)
)
drawn = np.array(order)[rng.choice(len(order), N_CHANCE, replace=False)]
words = np.array([found[k].word.lower() for k in drawn])
places = np.array([found[k].sentence for k in drawn])
unrelated = (words[:, None] != words) & (places[:, None] != places)
band = np.array(
    [
        np.percentile(cosine_matrix(v[drawn])[unrelated], [5, 95])
        for v in vectors
    ]
).T
for layer in (0, 5, 6):
    low, high = band[:, layer]
    print(f"layer {layer}: middle 90% from {low:.2f} to {high:.2f}")

# %% [markdown]
# Now 0.69 can be read. In the last layer it lies far above the band: a bank by the river is, for MiniLM, far
# more like a bank with money than two different words from different sentences usually are. The sentence
# bends the vector. It does not replace it. Words of the **same** sentence are another matter, since they
# mix with each other:

# %%
account = contextual.word_vectors(minilm, sentences[2:], "account")
same_sentence = cosine(last[2], account.vectors[-1, 0])
print(f"bank and account in the third sentence: {same_sentence:.2f}")

# %% [markdown]
# So *account* is nearer to the bank of its own sentence than the river bank is.
#
# Note too that the band itself moves from layer to layer. A cosine from one layer must not be compared
# with one from another, nor with one of GloVe's.

# %% [markdown]
# ## Where in the model does it happen?
#
# The model gives a vector after each of its six layers, and one before the first, called **layer 0**.
# **Predict first:** what are the three cosines at layer 0, before any attention?

# %% tags=["anchor"]
pairs = [(0, 1), (0, 2), (1, 2)]
table = pd.DataFrame(
    [
        [cosine(layer[i], layer[j]) for i, j in pairs]
        for layer in bank.vectors
    ],
    columns=[f"{names[i]}–{names[j]}" for i, j in pairs],
)
table.index.name = "layer"
table.round(3)

# %% [markdown]
# With the chance band below them, the same numbers look like this:

# %% mystnb={"figure": {"caption": "The three cosines of bank at each layer, above the chance band (grey). The money pair stands apart from layer 1 on."}, "image": {"alt": "Three lines over layers 0 to 6. All start between 0.97 and 0.99, fall in layer 1 to between 0.81 and 0.93, stay nearly level to layer 5, and end at 0.73 for river and deposit, 0.69 for river and account, 0.81 for deposit and account. The grey chance band lies below all of them."}}
fig, ax = plt.subplots()
lines = {name: table[name].to_numpy() for name in table}
plotting.layer_lines(
    ax, lines, band=band, band_label="other words, middle 90%"
)
ax.set(ylim=(-0.15, 1.05), xlim=(-0.2, 7.8))
plt.show()

# %% [markdown]
# Compare the lines within a layer: how much closer are the two money banks to each other than either is to
# the river bank?

# %%
gap_by_layer = table.iloc[:, 2] - table.iloc[:, :2].mean(axis=1)
print(gap_by_layer.round(2).tolist())

# %% [markdown]
# After one layer the money pair stands apart, and the later layers hardly widen that. That all three lines
# fall in layer 6 is no sign of more meaning: the band falls, too.
#
# ### Why is layer 0 not 1?
#
# Before any attention, the three banks should be the same. They are not quite, because layer 0 is not the
# bare word. It is the word's vector plus a vector for its **position** in the sentence, scaled to a common
# size. Put the word into the same position, and the difference is gone; one layer later it is back, and
# now it comes from the words around it.

# %%
same_place = contextual.word_vectors(
    minilm, ["the bank is open", "our bank was closed"], "bank"
)
for layer in (0, 1):
    first, second = same_place.vectors[layer]
    print(f"layer {layer}: {cosine(first, second):.3f}")

# %% [markdown]
# ## Is the gap real?
#
# Three sentences prove nothing: they were chosen. So take 24 sentences for each of the two senses, written
# for this course with varied wording and with traps (a fisherman who goes to the bank to pay in a cheque).
# Compare the mean cosine **within** a sense with the mean cosine **between** the senses.


# %%
def within_and_between(rows, senses):
    """Return the mean cosine of pairs of one sense, and of two."""
    senses = np.asarray(senses)
    cosines = cosine_matrix(rows)
    same = senses[:, None] == senses
    distinct = ~np.eye(len(senses), dtype=bool)
    return cosines[same & distinct].mean(), cosines[~same].mean()


banks = homonyms[homonyms.word == "bank"].reset_index(drop=True)
senses = banks.sense.to_numpy()
rows = contextual.word_vectors(minilm, banks.sentence, "bank").vectors[-1]
within, between = within_and_between(rows, senses)
print(
    f"within {within:.3f}, between {between:.3f}, gap {within - between:.3f}"
)

# %% [markdown]
# A gap of some hundredths. (Note that 0.81, our money pair above, is below even the mean between the senses:
# three sentences tell nothing about the level.) Could chance make such a gap? Shuffle the senses over the sentences and measure again,
# many times: that shows which gaps arise when the senses mean nothing.

# %%
rng = np.random.default_rng(SEED)
shuffled = [
    np.subtract(*within_and_between(rows, rng.permutation(senses)))
    for _ in range(N_SHUFFLES)
]
reached = np.sum(np.array(shuffled) >= within - between)
print(f"largest of {N_SHUFFLES:,} shuffled gaps: {max(shuffled):.3f}")
print(f"p = {(reached + 1) / (N_SHUFFLES + 1):.3f}")

# %% [markdown]
# So the gap is not due to chance, and it is small. Both belong in the same sentence. What the test does not
# say is what makes the gap: the sense, or anything else that goes with it in these 48 sentences. How small shows when we ask for
# each sentence which other sentence is nearest, and whether the two have the same sense:

# %%
cosines = cosine_matrix(rows)
np.fill_diagonal(cosines, -1)  # a sentence is not its own neighbour
nearest = cosines.argmax(axis=1)
right = senses[nearest] == senses
print(
    f"nearest neighbour has the same sense: {right.sum()} of {len(right)}"
)
for i in np.flatnonzero(~right)[:3]:
    print(f"- {banks.sentence[i]}\n  {banks.sentence[nearest[i]]}")

# %% [markdown]
# A coin would get half. MiniLM's last layer does better than a coin, and fails often, on sentences that no
# reader would mistake. Here are all 14 words: *bank, bark, bass, bat, book, bow, crane, match, mole, organ,
# palm, pitcher, seal, spring*. **Predict first:** which pair of senses is the easiest?

# %%
gaps = {}
for word, group in homonyms.groupby("word"):
    last_layer = contextual.word_vectors(
        minilm, group.sentence, word
    ).vectors[-1]
    gaps[word] = within_and_between(last_layer, group.sense.to_numpy())
gaps = pd.DataFrame(gaps, index=["within", "between"]).T
gaps["gap"] = gaps["within"] - gaps["between"]
gaps.sort_values("gap", ascending=False).round(3)

# %% [markdown]
# The picture shows how far apart the two means are:

# %% mystnb={"figure": {"caption": "Within a sense (circles) and between senses (triangles), last layer, 48 sentences per word. The gap is large for book, smaller for match, and below 0.04 for the other twelve."}, "image": {"alt": "Fourteen words, each with two points joined by a line. For book the points lie at 0.82 and 0.67, for match at 0.81 and 0.75; for the other twelve words the points are 0.03 (pitcher) to less than 0.01 (crane) apart, all between 0.81 and 0.91; within is always the higher."}}
fig, ax = plt.subplots(figsize=(7.2, 4.6))
ordered = gaps.sort_values("gap")
for y, (word, row) in enumerate(ordered.iterrows()):
    ax.plot([row["between"], row["within"]], [y, y], color="0.6", zorder=1)
for column, style, where in zip(
    ("within", "between"), plotting.SENSE_STYLE, (1, -1)
):
    ax.scatter(
        ordered[column], range(len(ordered)), s=45, zorder=2, **style
    )
    ax.annotate(
        column,
        (ordered[column].iloc[-1], len(ordered) - 1),
        xytext=(10 * where, 0),
        textcoords="offset points",
        ha="left" if where > 0 else "right",
        va="center",
    )
ax.set_yticks(range(len(ordered)), ordered.index)
ax.set(xlabel="mean cosine, last layer", xlim=(0.6, 0.95))
plt.show()

# %% [markdown]
# *Book* wins, and grammar may be the reason: *a book* is a noun and *to book* a verb, and the word to its left
# often tells the two apart. For the words whose two senses are both nouns, the gaps are small, and for most
# of them a hundredth or two.
#
# What this does not show: that MiniLM does not know the difference. It was trained to compare whole
# sentences, and we looked at one word's vector with one ruler, the raw cosine. Whether another layer or a
# better ruler sees more is a question that can be measured, too.

# %% [markdown]
# ## What is a word, for the model?
#
# Models read **pieces**, not words. MiniLM's tokenizer knows 30,522 of them; a word that is not among
# them is cut up {cite}`devlin2019bert`.

# %%
print(len(minilm.tokenizer), "pieces")
print(contextual.pieces_of(minilm, "the jellyfish sat by the bank"))
jellyfish = contextual.word_vectors(
    minilm, ["the jellyfish sat by the bank"], "jellyfish"
)
print("pieces of jellyfish:", jellyfish.occurrences[0].n_pieces)

# %% [markdown]
# The word's vector is the **mean** of its pieces' vectors, a choice that this course makes everywhere. The
# pieces are found by the characters they stand for. Counting words would go wrong here: counted from
# 0, *bank* is word 5 and piece 7.
#
# A word that occurs twice in a sentence has two vectors, and they differ:

# %%
twice = contextual.word_vectors(
    minilm, ["the bank by the river bank"], "bank"
)
first, second = twice.at(0, 0), twice.at(0, 1)
print(f"{len(twice.occurrences)} occurrences")
print(f"cosine in the last layer: {cosine(first[-1], second[-1]):.3f}")

# %% [markdown]
# And a form that is not there is not found. *Banks* is another word, and *banker* is not a bank:

# %%
try:
    contextual.word_vectors(
        minilm, ["the banker closed both banks"], "bank"
    )
except ValueError as error:
    print(error)

# %% [markdown]
# ### Exercise 1 · Code · 12 minutes
#
# Four sentences with *bat*, two for each sense. Compute the mean cosine within the senses minus the mean
# cosine between them, in the last layer. Do not compare a vector with itself.

# %%
bat_sentences = [
    "a bat flew out of the cave at dusk",
    "the bat slept upside down under the roof",
    "he swung the bat and missed the ball",
    "she gripped the bat and waited for the pitch",
]
bat_senses = ["animal", "animal", "sport", "sport"]
bats = contextual.word_vectors(minilm, bat_sentences, "bat").vectors[-1]

# %% [markdown]
# Your turn. `bats` has one row for each sentence.

# %% tags=["exercise"]
bat_gap = ...  # your answer, from bats and bat_senses

# %% tags=["check"]
checks.sense_gap(bat_gap, bats, bat_senses)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Within the senses there are only two pairs, 0 with 1 and 2 with 3. Between them there are four.
#
# </details>
# <details><summary>Hint 2</summary>
#
# The function `within_and_between` above does it for any number of sentences, and returns both means.
#
# </details>
# <details><summary>Solution</summary>
#
# ```python
# bat_gap = np.subtract(*within_and_between(bats, bat_senses))
# ```
#
# Compare it with the gap of *bat* over 48 sentences in the table above. Four chosen sentences are not a
# sample; perhaps short sentences with strong cues make a larger gap.
#
# </details>

# %% [markdown]
# ### Exercise 2 · Explore · 10 minutes
#
# Find a failure. Choose two of the 48 sentences with *bank*, of different senses, such that the first is
# closer to the second than it is, on average, to the other sentences of its own sense. The table of
# sentences is `banks`, the vectors are `rows`, the cosines `cosines`.

# %% tags=["exercise"]
pair = (..., ...)  # two row numbers

# %% tags=["check"]
checks.surprising_pair(pair, rows, senses)

# %% [markdown]
# <details><summary>Hint</summary>
#
# The sentences whose nearest neighbour has the other sense are a good start: `np.flatnonzero(~right)`.
#
# </details>
# <details><summary>Solution</summary>
#
# ```python
# first = int(np.flatnonzero(~right)[0])
# pair = (first, int(nearest[first]))
# ```
#
# Read both sentences. What do they share, if not the sense? Write down a guess (the place of *bank*, the word
# before it, a topic word), and count whether it holds for the other failures.
#
# </details>
#
# ### Exercise 3 · Think · 5 minutes
#
# Somebody wants one vector for a whole sentence, and takes the vector of its first or last piece from
# GPT-2. What could go wrong?
#
# <details><summary>Solution</summary>
#
# The state of a piece is trained for something else: in GPT-2, to predict the next piece. The first piece
# of GPT-2 has seen nothing but itself, so its vector says nothing of the sentence. Nor need cosines of such
# states mean "same meaning". MiniLM's sentence vector is the mean over all its pieces, and it was trained so
# that the cosine of such means is what counts. Use a vector for what it was trained for, or measure first
# what it is good for.
#
# </details>

# %% [markdown]
# ## The same at three depths

# %% [markdown] tags=["depth-beginner"]
# ### In plain words
#
# In lesson 1 every word had one place on the map. Here a word starts from that one place and then looks
# around in its sentence. Each neighbour pulls it a little. *Bank* between *river* and *boats* is pulled
# towards water, *bank* beside *cheque* towards money. After six rounds of pulling it has moved, but it has
# not left home: it is still much closer to other banks than to most other
# words.

# %% [markdown] tags=["depth-developer"]
# ### In code
#
# Four steps: cut the sentence into pieces, run the model, find the pieces of the word, average them.

# %% tags=["depth-developer"]
import torch


def vector_by_hand(sentence, word):
    """Return the last layer's vector of a word's first occurrence."""
    inputs = minilm.tokenizer(
        sentence, return_tensors="pt", return_offsets_mapping=True
    )
    spans = inputs.pop("offset_mapping")[0].tolist()
    with torch.no_grad():
        states = minilm.network(**inputs).last_hidden_state[0]
    start = sentence.index(word)
    end = start + len(word)
    pieces = [start < b and a < end for a, b in spans]
    return states[pieces].mean(dim=0).numpy()


by_hand = vector_by_hand(sentences[0], "bank")
same = np.allclose(by_hand, bank.vectors[-1, 0], atol=1e-5)
print("same as the helper:", same)

# %% [markdown] tags=["depth-developer"]
# What the helper adds: it finds whole words only (`"the banker"` would fool `index`); it takes every
# occurrence; it runs many sentences at once. For that, shorter sentences are filled up with **padding**, and
# a **mask** tells the model what is padding. Forget the mask and the padding takes part in the attention:

# %% tags=["depth-developer"]
batch = minilm.tokenizer(sentences, return_tensors="pt", padding=True)
with torch.no_grad():
    masked = minilm.network(**batch).last_hidden_state[1]
    batch["attention_mask"] = torch.ones_like(batch["attention_mask"])
    unmasked = minilm.network(**batch).last_hidden_state[1]
where = bank.occurrences[1].first_piece
with_and_without = cosine(masked[where], unmasked[where])
print(f"cosine with and without the mask: {with_and_without:.3f}")

# %% [markdown] tags=["depth-researcher"]
# ### In theory
#
# One head of self-attention maps the rows $X \in \mathbb{R}^{n \times d}$ of a sentence to
#
# $$\operatorname{softmax}\left( \frac{X W_Q (X W_K)^{\top}}{\sqrt{d_k}} \right) X W_V ,$$
#
# with learned $W_Q$, $W_K$ and $W_V$ of width $d_k$ {cite}`vaswani2017attention`; our toy had the identity for all three. A
# block adds the result to its input, scales, and sends each row through a small network of its own. The
# output $g(s)_i$ thus depends on every word of $s$: the domain is $V^n$, and two occurrences of a word are
# two arguments. In a decoder such as GPT-2, row $i$ attends to rows $1 \dots i$ alone, and $g(s)_i$ depends
# on what came before.
#
# **What it costs.** The scores are $n^2$ products of length $d$, and so are the weighted means: $2 n^2 d$
# multiplications a layer, whence the $O(n^2 \cdot d)$ of self-attention. Four projections ($W_Q$, $W_K$, $W_V$ and one that
# joins the heads) take $4 n d^2$ and the network behind them, with four times the width, $8 n d^2$. The quadratic part outgrows
# the other when $2 n^2 d > 12 n d^2$, that is for $n > 6 d$:

# %% tags=["depth-researcher"]
d = minilm.n_dims
for n in (10, 100, 512):
    attention, other = 2 * n**2 * d, 12 * n * d**2
    share = attention / (attention + other)
    print(f"n = {n}: {share:.1%} of the multiplications")
print(f"half of them from n = {6 * d:,} on")
print("this model has positions for", minilm.max_pieces)

# %% [markdown] tags=["depth-researcher"]
# For sentences, the $n^2$ is there and hardly matters. Lesson 1's look-up did not depend on the sentence at
# all.

# %% [markdown]
# ## Summary
#
# - **Attention** mixes the vectors of a sentence: one word, many sentences, many vectors.
# - A word's vector is the **mean of its pieces**, found by characters, at a layer that one has to name.
# - A cosine is read against a **chance band** of the same layer of the same model.
# - For *bank*, the gap between the senses is **real** (none of 1,000 shuffles makes it) and **small** (the
#   nearest neighbour is often of the other sense).
# - **Pieces, positions and padding** change vectors, too. Not every difference is meaning.
#
# ## Common mistakes
#
# - *Different scales.* 0.81 in MiniLM's last layer and 0.81 in GloVe do not mean the same, nor do 0.81 in
#   two layers.
# - *Expecting senses to separate cleanly.* Nearest neighbours are often of the other sense; say how often.
# - *Taking the vector of a piece for the vector of a sentence.* A token's state is not a summary, unless the
#   model was trained to make it one.
# - *Finding the word by counting blanks.* Pieces and special pieces shift everything.
# - *Forgetting the mask* or *leaving the model in training mode* (which drops numbers at random): both change the numbers without any
#   error.
#
# ## Further reading
#
# - {cite}`vaswani2017attention`: attention, by those who built a whole model from it.
# - {cite}`devlin2019bert`: BERT, of which MiniLM is a small relative.
# - {cite}`reimers2019sentence`: why a model has to be trained for cosine before its cosine can be trusted.
# - {cite}`ethayarajh2019contextual`: how contextual such vectors are, measured; the paper this course is
#   built around.
