/** Programs called `kubectl-…` on the path are commands, too. */
import { delimiter, join } from 'node:path'
import { PlainError } from './cli-error.ts'
import type { Host } from './host.ts'

/** Runs the plugin with the longest name that the arguments begin with; undefined where there is none. */
export async function runPlugin(args: readonly string[], host: Host): Promise<number | undefined> {
  const words: string[] = []
  for (const arg of args) {
    if (arg.startsWith('-')) break
    words.push(arg.replaceAll('-', '_'))
  }
  if (words.length === 0) throw new PlainError(`Error: flags cannot be placed before plugin name: ${args[0]}`)
  for (let count = words.length; count > 0; count--) {
    const path = await findProgram(`kubectl-${words.slice(0, count).join('-')}`, host)
    if (path !== undefined) return host.terminal.hand(path, args.slice(count))
  }
  return undefined
}

export async function findProgram(name: string, { environment, files }: Host): Promise<string | undefined> {
  for (const directory of pathDirectories(environment)) {
    const path = join(directory, name)
    const stat = await files.statTarget(path)
    if (stat?.kind === 'file' && (stat.mode & 0o111) !== 0) return path
  }
  return undefined
}

export const pathDirectories = (environment: Host['environment']): string[] =>
  [...new Set((environment['PATH'] ?? '').split(delimiter))].filter((each) => each.trim() !== '')
