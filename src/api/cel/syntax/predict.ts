/** Which way the grammar goes on, as far ahead as it takes to know. */
import type { Grammar, State } from '#api/cel/syntax/grammar.ts'
import type { TokenType } from '#api/cel/syntax/lexer.ts'

/** Where rules that are under way go on, the innermost first. */
type Stack = { readonly state: State; readonly rest: Stack | undefined; readonly key: string } | undefined
/** `isOutside`: has left the rule in which the question was asked. */
type Path = { readonly state: State; readonly option: number; readonly stack: Stack; readonly isOutside: boolean }

export type Prediction = { readonly option: number } | { readonly stuckAt: number }

const maxPaths = 5000

/** Is told how many ways were looked at, and throws when it is enough. */
export type Spend = (paths: number) => void

/** `options` are the states the ways begin in; `tokens` begin where the parser stands. */
export function predict(
  grammar: Grammar,
  options: readonly (State | undefined)[],
  tokens: (ahead: number) => TokenType,
  spend: Spend,
): Prediction {
  let paths = closure(
    grammar,
    options.flatMap((state, option) => (state === undefined ? [] : [{ state, option, stack: undefined, isOutside: false }])),
  )
  for (let ahead = 0; ; ahead++) {
    spend(paths.length)
    const type = tokens(ahead)
    const moved = paths.flatMap((path) =>
      path.state.moves.flatMap(({ to, tokens: types }) => (types?.has(type) ? [{ ...path, state: to }] : [])),
    )
    if (moved.length === 0) {
      // Past the end of the rule the mistake is somebody else's.
      const finished = paths.filter(({ state, stack, isOutside }) => isOutside || (state.kind === 'stop' && stack === undefined))
      if (finished.length > 0) return { option: Math.min(...finished.map(({ option }) => option)) }
      return { stuckAt: ahead }
    }
    const left = new Set(moved.map(({ option }) => option))
    if (left.size === 1 || type === '<EOF>' || moved.length > maxPaths) return { option: Math.min(...left) }
    paths = closure(grammar, moved)
    if (isAmbiguous(paths)) return { option: Math.min(...left) }
  }
}

function closure(grammar: Grammar, from: readonly Path[]): Path[] {
  const found = new Map<string, Path>()
  const visit = (path: Path): void => {
    const { state, option, stack } = path
    const key = `${option}/${state.id}/${stack?.key ?? ''}`
    if (found.has(key)) return
    found.set(key, path)
    if (state.kind === 'stop') {
      if (stack !== undefined) visit({ ...path, state: stack.state, stack: stack.rest })
      else for (const follow of grammar.follows.get(state.rule) ?? []) visit({ ...path, state: follow, isOutside: true })
      return
    }
    for (const { to, tokens, rule } of state.moves) {
      if (tokens !== undefined) continue
      if (rule === undefined) visit({ ...path, state: to })
      else
        visit({ ...path, state: grammar.starts.get(rule) as State, stack: { state: to, rest: stack, key: `${to.id}>${stack?.key ?? ''}` } })
    }
  }
  for (const path of from) visit(path)
  return [...found.values()]
}

/** Every way there is may have been come by through more than one option: more tokens will not tell. */
function isAmbiguous(paths: readonly Path[]): boolean {
  const options = new Map<string, Set<number>>()
  for (const { state, stack, option } of paths) {
    const key = `${state.id}/${stack?.key ?? ''}`
    options.set(key, (options.get(key) ?? new Set()).add(option))
  }
  for (const each of options.values()) if (each.size < 2) return false
  return true
}
