/** `typernetes up`: a cluster in this process, or in one that it leaves behind. */
import { addOptions, type Command, optionValues } from '#base/options.ts'
import { addClusterName } from '#cmd/cluster-names.ts'
import { upOptions } from '#cmd/up/options.ts'

export function upCommand(command: Command): void {
  addOptions(command, upOptions)
  addClusterName(command)
  command.action(async () => {
    const options = optionValues(command, upOptions)
    if (command.getOptionValueSource('apiPort') === 'default') {
      const [{ nodeFiles: files }, { nodeSockets: sockets }] = await Promise.all([import('#base/files.ts'), import('#base/sockets.ts')])
      const { chooseApiPort } = await import('#cmd/up/choose-api-port.ts')
      options.apiPort = await chooseApiPort({ ...options, isNamed: command.args.length > 0 }, { files, sockets })
    }
    const isGiven = ([key]: [string, unknown]) =>
      command.getOptionValueSource(key) === 'cli' && !['dataDir', 'detach', 'config'].includes(key)
    const given = Object.fromEntries(Object.entries(options).filter(isGiven))
    // Loaded now, so that asking for help does not load a cluster.
    if (options.detach) await (await import('#cmd/up/detached.ts')).startDetached(options, given)
    else await (await import('#cmd/up/up.ts')).up(options)
  })
}
