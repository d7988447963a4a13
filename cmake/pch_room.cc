// What cmake/pch_room.h is compiled with.
