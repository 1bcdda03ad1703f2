print("not executable: no program")
