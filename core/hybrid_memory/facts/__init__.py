"""Claims that turns make, the facts and the profile that follow from them, and what reads them."""
