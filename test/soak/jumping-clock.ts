/** Loaded before a server (`--import`): its wall clock is off by the seconds that stand in the file `SOAK_CLOCK_FILE`, looked at often. */
import { readFileSync } from 'node:fs'

const path = process.env['SOAK_CLOCK_FILE'] ?? ''
const trueNow = Date.now
let offsetMs = 0
const look = () => {
  try {
    offsetMs = Number(readFileSync(path, 'utf8')) * 1000 || 0
  } catch {
    offsetMs = 0
  }
}
look()
setInterval(look, 50).unref()
Date.now = () => trueNow() + offsetMs
