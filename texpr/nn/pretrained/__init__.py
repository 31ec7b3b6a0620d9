"""Networks of Hugging Face's folders: built by their `config.json`, with the weights of their
safetensors.

`hugging_face` reads folders; `decoders` and `encoders` are the networks, whose parameters have the
names that transformers gives them.
"""
