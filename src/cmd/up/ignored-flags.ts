import { flagName } from '#base/options.ts'

/** How a command line spells an option that was given: `--nodes 3`, or `--verbose` alone. */
function flagText(key: string, value: unknown): string {
  return value === true ? `--${flagName(key)}` : `--${flagName(key)} ${String(value)}`
}

/** Those flags that a cluster was not started with, so that they have no effect while it runs. */
export function ignoredFlags(given: Readonly<Record<string, unknown>>, startedWith: readonly string[]): string[] {
  return Object.entries(given)
    .filter(([key, value]) => {
      const flag = `--${flagName(key)}`
      const isSame = (arg: string, at: number) =>
        arg === `${flag}=${String(value)}` || (arg === flag && (value === true || startedWith[at + 1] === String(value)))
      return !startedWith.some(isSame)
    })
    .map(([key, value]) => flagText(key, value))
}
