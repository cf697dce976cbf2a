/**
 * The text as bytes in memory of their own. What Node hands out from its pools (64 KB each) keeps everything beside it alive, which
 * for bytes that are kept for long multiplies what they take.
 */
export function ownBytes(text: string): Buffer {
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text))
  bytes.write(text)
  return bytes
}
