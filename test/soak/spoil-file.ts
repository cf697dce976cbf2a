import { closeSync, fstatSync, openSync, readSync, writeSync } from 'node:fs'
import type { Random } from '#base/random.ts'

/** Turns some bytes of a file into others, as a bad disk does. */
export function spoilFile(path: string, random: Random): void {
  const file = openSync(path, 'r+')
  try {
    const { size } = fstatSync(file)
    for (let index = 0; index < 1 + random.int(4) && size > 0; index++) {
      const piece = Buffer.alloc(1 + random.int(64))
      const place = random.int(size)
      const length = readSync(file, piece, 0, piece.length, place)
      for (let at = 0; at < length; at++) piece[at] = (piece[at] ?? 0) ^ (1 + random.int(255))
      writeSync(file, piece, 0, length, place)
    }
  } finally {
    closeSync(file)
  }
}

/** What a write that was cut off leaves at the end of a file. */
export function tearFile(path: string, random: Random): void {
  const file = openSync(path, 'a')
  const piece = Buffer.alloc(1 + random.int(5000), 1 + random.int(255))
  writeSync(file, piece)
  closeSync(file)
}
