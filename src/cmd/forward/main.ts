/** The forwarder of `--pod-network udp`; its settings are in the file that is the first argument. Ends with its device, or by a signal. */
import { nodeFiles } from '#base/files.ts'
import { thisProcess } from '#base/machine.ts'
import { pinoLogger } from '#base/pino-logger.ts'
import { nodeSockets } from '#base/sockets.ts'
import { openTunDevice } from '#base/tun-device.ts'
import { runUdpForwarder } from '#network/udp/udp-forwarder.ts'

const logger = pinoLogger({ level: 'info' }).with({ component: 'pod-network' })
const seams = { files: nodeFiles, sockets: nodeSockets, logger, openTun: openTunDevice }
try {
  await runUdpForwarder({ settingsFile: thisProcess.argv[2] ?? '', ...seams })
} catch (error) {
  logger.error('pod network: udp forwarder failed', { error: String(error) })
  thisProcess.exit(1)
}
