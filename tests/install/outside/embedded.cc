#include <semel/error.h>

#include <iostream>

int main() { std::cout << semel::error_info(semel::ErrorCode::LeaseLost).name << "\n"; }
