/** Commands about kubectl itself: `options`, `help`, `plugin list`. */

import { join } from 'node:path'
import type { Call } from '#cli/call.ts'
import { CliError } from '#cli/cli-error.ts'
import { commandSpecs } from '#cli/flags/command-spec.ts'
import { findCommand } from '#cli/flags/parse-command-line.ts'
import { helpText, optionsText } from '#cli/help/help.ts'
import { pathDirectories } from '#cli/plugins.ts'

export async function options({ host }: Call): Promise<void> {
  host.write(optionsText())
}

export async function help({ args, host }: Call): Promise<void> {
  const { command, word } = findCommand(args)
  if (command.path === '' && word !== undefined)
    host.complain(`Unknown help topic [${args.map((arg) => `\`${arg}\``).join(' ')}]\n${helpText(command)}`)
  else host.write(helpText(command))
}

export async function pluginList({ flags, host }: Call): Promise<void> {
  const found: string[] = []
  const seen = new Map<string, string>()
  let warnings = 0
  for (const directory of pathDirectories(host.environment)) {
    if ((await host.files.statTarget(directory)) === undefined) {
      host.complain(`Unable to read directory "${directory}" from your PATH: open ${directory}: no such file or directory. Skipping...\n`)
      continue
    }
    for (const name of await host.files.list(directory).catch(() => [])) {
      if (!name.startsWith('kubectl-')) continue
      const path = join(directory, name)
      if (found.length === 0) host.write('The following compatible plugins are available:\n\n')
      found.push(path)
      host.write(`${flags.isOn('name-only') ? name : path}\n`)
      const stat = await host.files.statTarget(path)
      const words = name.slice('kubectl-'.length).replaceAll('_', '-').split('-').join(' ')
      if (stat !== undefined && (stat.mode & 0o111) === 0) {
        host.complain(`  - warning: ${path} identified as a kubectl plugin, but it is not executable\n`)
        warnings++
      } else if (seen.has(name)) {
        host.complain(`  - warning: ${path} is overshadowed by a similarly named plugin: ${seen.get(name)}\n`)
        warnings++
      } else if (commandSpecs().has(words)) {
        host.complain(`  - warning: ${name} overwrites existing command: "kubectl ${words}"\n`)
        warnings++
      }
      seen.set(name, path)
    }
  }
  if (found.length === 0) throw new CliError('unable to find any kubectl plugins in your PATH')
  if (warnings > 0) throw new CliError(warnings === 1 ? 'one plugin warning was found' : `${warnings} plugin warnings were found`)
}

export async function alpha({ host }: Call): Promise<void> {
  host.complain('No alpha commands are available in this version of kubectl\n')
}
