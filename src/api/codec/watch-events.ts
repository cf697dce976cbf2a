/** The stream a watch is answered with: a line of JSON an event, or a frame of protobuf an event. */
import { DecodeError } from './decode-error.ts'
import { type ProtobufDocument, readProtobufEvent } from './protobuf.ts'

export type WatchEventType = 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR'

/** No event is larger, unless something is wrong: the largest object is 3 MB. */
const maxEventBytes = 32 * 1024 * 1024

const newline = 0x0a
const closing = Buffer.from('}\n')

/** A line, around an object that was encoded already. */
export function jsonEvent(type: WatchEventType, object: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(`{"type":"${type}","object":`), object, closing])
}

/** Puts the pieces together that a stream arrives in, and takes it apart into events. */
abstract class EventReader<T> {
  #pending: Uint8Array[] = []
  #pendingBytes = 0

  /** The events that are complete with this piece. Throws `DecodeError`; the stream is of no use after that. */
  push(piece: Uint8Array): T[] {
    this.#pending.push(piece)
    this.#pendingBytes += piece.length
    if (!this.mayComplete(piece, this.#pendingBytes)) {
      if (this.#pendingBytes > maxEventBytes) throw new DecodeError('event of the watch is too large')
      return []
    }
    let rest: Uint8Array = this.#pending.length === 1 ? piece : Buffer.concat(this.#pending)
    const events: T[] = []
    for (let taken = this.take(rest); taken !== undefined; taken = this.take(rest)) {
      if (taken.event !== undefined) events.push(taken.event)
      rest = rest.subarray(taken.length)
    }
    this.#pending = rest.length === 0 ? [] : [rest]
    this.#pendingBytes = rest.length
    return events
  }

  /** Whether the piece that came last can complete an event; spares looking at long ones again with every piece. */
  protected abstract mayComplete(piece: Uint8Array, pendingBytes: number): boolean
  /** The first event, if the bytes hold one, and how many bytes it takes. */
  protected abstract take(bytes: Uint8Array): { event: T | undefined; length: number } | undefined
}

export type JsonEvent = { type: string; object: unknown }

export class JsonEventReader extends EventReader<JsonEvent> {
  protected override mayComplete(piece: Uint8Array): boolean {
    return piece.includes(newline)
  }

  protected override take(bytes: Uint8Array): { event: JsonEvent | undefined; length: number } | undefined {
    const end = bytes.indexOf(newline)
    if (end < 0) return undefined
    const line = Buffer.from(bytes.buffer, bytes.byteOffset, end).toString()
    if (line.trim() === '') return { event: undefined, length: end + 1 }
    let event: Partial<JsonEvent> | null
    try {
      event = JSON.parse(line) as Partial<JsonEvent> | null
    } catch (error) {
      throw new DecodeError(`unable to decode an event from the watch stream: ${(error as Error).message}`)
    }
    if (typeof event?.type !== 'string') throw new DecodeError('unable to decode an event from the watch stream: it has no type')
    return { event: { type: event.type, object: event.object }, length: end + 1 }
  }
}

export type ProtobufEvent = { type: string; object: ProtobufDocument }

export class ProtobufEventReader extends EventReader<ProtobufEvent> {
  #needed = 4

  protected override mayComplete(_piece: Uint8Array, pendingBytes: number): boolean {
    return pendingBytes >= this.#needed
  }

  protected override take(bytes: Uint8Array): { event: ProtobufEvent; length: number } | undefined {
    this.#needed = 4
    if (bytes.length < 4) return undefined
    const length = 4 + new DataView(bytes.buffer, bytes.byteOffset).getUint32(0)
    if (length > maxEventBytes) throw new DecodeError('event of the watch is too large')
    this.#needed = length
    if (bytes.length < length) return undefined
    this.#needed = 4
    return { event: readProtobufEvent(bytes.subarray(4, length)), length }
  }
}
