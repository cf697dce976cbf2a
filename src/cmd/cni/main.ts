/** A network plugin as container runtimes call it; its type is the first argument. Loads as little as it can: it is started for every pod. */
import { nodeFiles } from '#base/files.ts'
import { thisProcess } from '#base/machine.ts'
import { nodeProcesses } from '#base/processes.ts'
import { plugins } from '#network/cni/chain.ts'
import { chainPlugin, pluginCalled } from '#network/cni/plugin-server.ts'
import { runPlugin } from '#network/cni/run-plugin.ts'

const type = thisProcess.argv[2] ?? ''
const plugin = pluginCalled(type)
if (plugin === undefined) {
  thisProcess.complain(`there is no plugin ${type}; there are ${chainPlugin}, ${Object.keys(plugins).join(', ')}`)
  thisProcess.exit(1)
} else {
  const seams = { files: nodeFiles, processes: nodeProcesses }
  const { exitCode, output } = await runPlugin(plugin, thisProcess.environment, await thisProcess.readInput(), seams)
  thisProcess.write(Buffer.from(output))
  thisProcess.setExitCode(exitCode)
}
