/**
 * Plugins served by a process that runs already: starting one for each pod takes longer than all that a plugin does. What a runtime calls is
 * a short script that hands on its environment and its input, and prints the answer.
 *
 * ```
 * TOKEN            exit code
 * TYPE             what the plugin prints …
 * CNI_COMMAND=ADD
 * CNI_…
 *                  (an empty line)
 * LENGTH
 * configuration …
 * ```
 */
import { timingSafeEqual } from 'node:crypto'
import type { Logger } from '#base/log.ts'
import type { SocketListener, Sockets, TcpConnection } from '#base/sockets.ts'
import { chain, plugins } from '#network/cni/chain.ts'
import type { CniPlugin, CniSeams } from '#network/cni/contract.ts'
import { runPlugin } from '#network/cni/run-plugin.ts'

export type PluginServer = { readonly port: number; readonly token: string; close(): Promise<void> }

/** The whole chain of a pod, in one call. */
export const chainPlugin = 'typernetes'
const largestBytes = 1 << 20

export const pluginCalled = (type: string): CniPlugin | undefined => (type === chainPlugin ? chain : plugins[type])

/** Takes calls on loopback, of those alone who know the token. */
export async function servePlugins(token: string, sockets: Sockets, seams: CniSeams, logger: Logger): Promise<PluginServer> {
  const listener: SocketListener = await sockets.listenTcp({ host: '127.0.0.1', port: 0 }, (connection) => {
    void answerCall(connection, token, seams).catch((error: unknown) => {
      connection.destroy()
      logger.debug('failed to answer a CNI plugin call', { error: String(error) })
    })
  })
  return { port: listener.port, token, close: () => listener.close() }
}

async function answerCall({ stream, destroy }: TcpConnection, token: string, seams: CniSeams): Promise<void> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    bytes += chunk.length
    // Who does not know the token is not listened to.
    if (bytes >= token.length && !startsWith(Buffer.concat(chunks), token)) return destroy()
    if (bytes > largestBytes) return destroy()
    const call = callIn(Buffer.concat(chunks))
    if (call === undefined) continue
    const plugin = pluginCalled(call.type)
    const { exitCode, output } =
      plugin === undefined
        ? { exitCode: 1, output: JSON.stringify({ cniVersion: '1.0.0', code: 7, msg: `there is no plugin ${call.type}` }) }
        : await runPlugin(plugin, call.environment, call.input, seams)
    stream.end(`${exitCode}\n${output}`)
    return
  }
}

function startsWith(data: Buffer, token: string): boolean {
  return timingSafeEqual(data.subarray(0, token.length), Buffer.from(token))
}

/** Undefined until all of it is there. */
function callIn(data: Buffer): { type: string; environment: Record<string, string>; input: string } | undefined {
  const headEnd = data.indexOf('\n\n')
  const lengthEnd = headEnd < 0 ? -1 : data.indexOf('\n', headEnd + 2)
  if (lengthEnd < 0) return undefined
  const length = Number(data.subarray(headEnd + 2, lengthEnd).toString('latin1'))
  const input = data.subarray(lengthEnd + 1)
  if (input.length < length) return undefined
  const [, type = '', ...variables] = data.subarray(0, headEnd).toString('utf8').split('\n')
  const environment = Object.fromEntries(variables.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]))
  return { type, environment, input: input.subarray(0, length).toString('utf8') }
}
