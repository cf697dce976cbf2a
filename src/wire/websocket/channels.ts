/** How the streams of a conversation with a container share a WebSocket: each message begins with the number of its stream. */

export const channels = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4, close: 255 } as const

export type ChannelProtocol = {
  name: string
  /** Messages are text: the number as a digit, then base64. */
  isBase64: boolean
  /** The error stream carries a Status; before that it carried a sentence, or nothing. */
  hasStatus: boolean
  /** One side of the conversation can be ended. */
  canClose: boolean
}

const protocol = (name: string, isBase64: boolean, hasStatus: boolean, canClose: boolean): ChannelProtocol => ({
  name,
  isBase64,
  hasStatus,
  canClose,
})

const known: readonly ChannelProtocol[] = [
  protocol('v5.channel.k8s.io', false, true, true),
  protocol('v4.channel.k8s.io', false, true, false),
  protocol('v4.base64.channel.k8s.io', true, true, false),
  protocol('channel.k8s.io', false, false, false),
  protocol('base64.channel.k8s.io', true, false, false),
  protocol('', false, false, false),
]

/** The first that the client names and we know; who names none gets the oldest. Undefined where nothing is known. */
export function chosenProtocol(offered: readonly string[]): ChannelProtocol | undefined {
  const names = offered.length === 0 ? [''] : offered
  for (const name of names) {
    const found = known.find((each) => each.name === name)
    if (found !== undefined) return found
  }
  return undefined
}

/** The names in a `Sec-WebSocket-Protocol` header. */
export function offeredProtocols(header: string | undefined): string[] {
  return (header ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
}

export function encodedMessage(channel: number, data: Uint8Array, { isBase64 }: ChannelProtocol): Uint8Array | string {
  if (isBase64) return `${channel}${Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64')}`
  const message = Buffer.allocUnsafe(data.length + 1)
  message[0] = channel
  message.set(data, 1)
  return message
}

/** Undefined for a message that says nothing. */
export function decodedMessage(message: Uint8Array, { isBase64 }: ChannelProtocol): { channel: number; data: Uint8Array } | undefined {
  const first = message[0]
  if (first === undefined) return undefined
  if (!isBase64) return { channel: first, data: message.subarray(1) }
  const digit = first - 0x30
  if (digit < 0 || digit > 9) return undefined
  return { channel: digit, data: Buffer.from(Buffer.from(message.subarray(1)).toString('latin1'), 'base64') }
}
