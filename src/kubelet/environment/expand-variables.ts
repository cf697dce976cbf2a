/**
 * `$(NAME)` becomes what `lookUp` says, and stays as it is where that is undefined; `$$` becomes `$`, so that `$$(NAME)` is the text
 * `$(NAME)`. Anything else is left alone.
 */
export function expandVariables(text: string, lookUp: (name: string) => string | undefined): string {
  return text.replace(reference, (found, name: string | undefined, closing: string | undefined) => {
    if (name === undefined) return '$'
    return closing === ')' ? (lookUp(name) ?? found) : `$(${name.replaceAll('$$', () => '$')}`
  })
}

/** One that nobody closes goes on to the end, so that it is looked for once. */
const reference = /\$(?:\$|\(([^)]*)(\)|$))/g

/** Beyond what the kernel takes of all arguments and variables of a program. */
const mostBytes = 8 << 20

/** What the texts of one container may be together: a few bytes that name each other again and again would be gigabytes. */
export class TextLimit {
  #leftBytes = mostBytes

  take(text: string): string {
    this.#leftBytes -= text.length
    if (this.#leftBytes < 0) throw new Error(`the variables of the container are more than ${mostBytes} bytes`)
    return text
  }

  /** What is found counts, before it is put together. */
  counting(lookUp: (name: string) => string | undefined): (name: string) => string | undefined {
    return (name) => {
      const found = lookUp(name)
      return found === undefined ? undefined : this.take(found)
    }
  }
}
