/** Serves network plugins, and writes down that it was called; says where on its first line. */
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { nodeFiles } from '#base/files.ts'
import { silentLogger } from '#base/log.ts'
import { nodeProcesses } from '#base/processes.ts'
import { nodeSockets, type TcpConnection } from '#base/sockets.ts'
import { servePlugins } from '#network/cni/plugin-server.ts'

const directory = process.argv[2] ?? ''
const sockets = {
  ...nodeSockets,
  listenTcp: (at: { host: string; port: number }, onConnection: (connection: TcpConnection) => void) =>
    nodeSockets.listenTcp(at, (connection) => {
      connection.stream.once('data', (data: Buffer) => {
        if (data.toString().startsWith(token)) appendFileSync(join(directory, 'served'), 'a call\n')
      })
      onConnection(connection)
    }),
}
const token = 'a-token-for-this-test'
const server = await servePlugins(token, sockets, { files: nodeFiles, processes: nodeProcesses }, silentLogger)
console.log(JSON.stringify({ port: server.port, token: server.token }))
