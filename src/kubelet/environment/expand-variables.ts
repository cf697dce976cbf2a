/**
 * `$(NAME)` becomes what `lookUp` says, and stays as it is where that is undefined; `$$` becomes `$`, so that `$$(NAME)` is the text
 * `$(NAME)`. Anything else is left alone.
 */
export function expandVariables(text: string, lookUp: (name: string) => string | undefined): string {
  return text.replace(/\$(?:\$|\(([^)]*)\))/g, (found, name: string | undefined) => (name === undefined ? '$' : (lookUp(name) ?? found)))
}
