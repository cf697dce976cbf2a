import type { Controller } from '#controllers/runtime/environment.ts'

/**
 * Those that a list in upstream's syntax names: `*` stands for all that are on by default, `name` for one, `-name` for all but it.
 * Names of both generations are known (`job-controller`, `job`). Nothing at all is none.
 */
export function selectControllers(all: readonly Controller[], list: readonly string[]): Controller[] {
  const known = new Set(all.flatMap(({ name, alias }) => [name, alias]))
  const unknown = list.map((item) => item.replace(/^-/, '')).filter((name) => name !== '*' && !known.has(name) && !laterNames.has(name))
  if (unknown.length > 0)
    throw new Error(`"${unknown.join('", "')}" is not in the list of known controllers: ${[...known].sort().join(', ')}`)
  const names = (item: string) => (controller: Controller) => item === controller.name || item === controller.alias
  return all.filter((controller) => {
    if (list.some((item) => names(item)(controller))) return true
    if (list.some((item) => item.startsWith('-') && names(item.slice(1))(controller))) return false
    return list.includes('*') && !controller.isOffByDefault
  })
}

/** Those that ask a cloud, which run in a program of their own: lists that leave them out, or ask for them, are no mistake. */
const laterNames: ReadonlySet<string> = new Set(
  ['service service-lb route node-route', 'cloud-node-lifecycle'].flatMap((line) =>
    line.split(' ').flatMap((name) => [name, `${name}-controller`]),
  ),
)
