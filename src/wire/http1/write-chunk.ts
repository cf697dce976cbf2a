/** A piece of a body whose length is not known before its end. */
export function chunkOf(data: Buffer): Buffer {
  const size = `${data.length.toString(16)}\r\n`
  const bytes = Buffer.allocUnsafe(size.length + data.length + 2)
  bytes.write(size, 0, 'latin1')
  data.copy(bytes, size.length)
  bytes[bytes.length - 2] = 13
  bytes[bytes.length - 1] = 10
  return bytes
}

/** The end of such a body, with headers that came after it: name, value, name, value. */
export function lastChunk(trailer: readonly string[]): string {
  let text = '0\r\n'
  for (let at = 0; at < trailer.length; at += 2) text += `${trailer[at]}: ${trailer[at + 1]}\r\n`
  return `${text}\r\n`
}
