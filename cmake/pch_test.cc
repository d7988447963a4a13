// What cmake/pch_test.h is compiled with.
