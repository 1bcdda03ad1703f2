#!/usr/bin/env python3
print("it.hidden 1700000000 1")
