/** Messages on a stream have their length in front, in two bytes. Returns what takes the stream's chunks. */
export function messageReader(onMessage: (message: Buffer) => void): (chunk: Buffer) => void {
  let waiting: Buffer[] = []
  let size = 0
  return (chunk) => {
    waiting.push(chunk)
    size += chunk.length
    // Put together only when there is enough: many small chunks are not copied again and again.
    while (size >= 2) {
      if ((waiting[0]?.length ?? 0) < 2) waiting = [Buffer.concat(waiting)]
      const wanted = 2 + (waiting[0] as Buffer).readUInt16BE(0)
      if (size < wanted) return
      const whole = waiting.length === 1 ? (waiting[0] as Buffer) : Buffer.concat(waiting)
      const rest = whole.subarray(wanted)
      waiting = rest.length === 0 ? [] : [rest]
      size = rest.length
      onMessage(whole.subarray(2, wanted))
    }
  }
}
