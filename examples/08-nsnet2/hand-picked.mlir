// fc1: matmul_transpose_b 1x400x161
#quidditch_snitch.lowering_config<l1_tiles = [0, 40, 0], l1_tiles_interchange = [2, 0, 1], dual_buffer = false>
// gru1_input, gru1_state, gru2_input, gru2_state: matmul_transpose_b 1x1200x400
#quidditch_snitch.lowering_config<l1_tiles = [0, 40, 100], l1_tiles_interchange = [2, 0, 1], dual_buffer = true>
#quidditch_snitch.lowering_config<l1_tiles = [0, 40, 100], l1_tiles_interchange = [2, 0, 1], dual_buffer = true>
#quidditch_snitch.lowering_config<l1_tiles = [0, 40, 100], l1_tiles_interchange = [2, 0, 1], dual_buffer = true>
#quidditch_snitch.lowering_config<l1_tiles = [0, 40, 100], l1_tiles_interchange = [2, 0, 1], dual_buffer = true>
// fc2: matmul_transpose_b 1x600x400
#quidditch_snitch.lowering_config<l1_tiles = [0, 40, 100], l1_tiles_interchange = [2, 0, 1], dual_buffer = true>
// fc3: matmul_transpose_b 1x600x600
#quidditch_snitch.lowering_config<l1_tiles = [0, 40, 100], l1_tiles_interchange = [2, 0, 1], dual_buffer = true>
// fc4: matmul_transpose_b 1x161x600, padded to 168 rows
#quidditch_snitch.lowering_config<l1_tiles = [0, 56, 100], l1_tiles_interchange = [2, 0, 1], dual_buffer = true>
