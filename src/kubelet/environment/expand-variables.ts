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
