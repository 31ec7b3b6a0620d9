"""Steps that rewrite expressions by algebra. Their checkers for certificates stand in
`poly.certificate.rewrites`.
"""
