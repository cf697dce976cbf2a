/** `typernetes up`: a cluster in this process, or in one that it leaves behind. */
import { addOptions, type Command, optionValues } from '#base/options.ts'
import { addClusterName } from '#cmd/cluster-names.ts'
import { upOptions } from '#cmd/up/options.ts'

export function upCommand(command: Command): void {
  addOptions(command, upOptions)
  addClusterName(command)
  command.action(async () => {
    const options = optionValues(command, upOptions)
    // Loaded now, so that asking for help does not load a cluster.
    if (options.detach) await (await import('#cmd/up/detached.ts')).startDetached(options)
    else await (await import('#cmd/up/up.ts')).up(options)
  })
}
