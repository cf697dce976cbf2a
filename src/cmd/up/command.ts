/** `typernetes up`: a cluster in this process, or in one that it leaves behind. */
import { nodeFiles } from '#base/files.ts'
import { addOptions, type Command, optionValues } from '#base/options.ts'
import { upOptions } from '#cmd/up/options.ts'

export function upCommand(command: Command): void {
  addOptions(command, upOptions)
  command.action(async () => {
    const options = optionValues(command, upOptions, await configuration(command.opts()['config']))
    // Loaded now, so that asking for help does not load a cluster.
    if (options.detach) await (await import('#cmd/up/detached.ts')).startDetached(options)
    else await (await import('#cmd/up/up.ts')).up(options)
  })
}

async function configuration(path: unknown): Promise<Record<string, unknown>> {
  if (typeof path !== 'string') return {}
  const { load } = await import('js-yaml')
  const loaded: unknown = load(await nodeFiles.readText(path))
  if (loaded === null || typeof loaded !== 'object' || Array.isArray(loaded)) throw new Error(`${path} is no map of settings`)
  return loaded as Record<string, unknown>
}
