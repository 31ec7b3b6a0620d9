"""Proofs about steps: dependences of loops before and after. The certificate
(`poly.certificate`) proves the result again.
"""
