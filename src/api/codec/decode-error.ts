/** Input that cannot be read: bad syntax, or a value where another kind of value belongs. The message is for the client. */
export class DecodeError extends Error {
  override name = 'DecodeError'
}
