ask 1
ask 8
ask 3679
ask 28718
ask 25174
ask 25178
ask 25175
