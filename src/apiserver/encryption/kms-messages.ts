/** The messages of a key service, and the envelope around a stored value, in protobuf. */

/** By field number, in order of appearance. Lengths and varints only: the messages have nothing else. */
type Fields = Map<number, (Uint8Array | number)[]>

export type StatusResponse = { version: string; healthz: string; keyId: string }
export type EncryptResponse = { ciphertext: Uint8Array; keyId: string; annotations: Annotations }
export type DecryptRequest = { ciphertext: Uint8Array; uid: string; keyId: string; annotations: Annotations }
export type Annotations = Readonly<Record<string, Uint8Array>>

/** `seed`: each value has a key derived from the source; `key`: the source is the key, as older servers wrote it. */
export type KeySourceType = 'key' | 'seed'

export type EncryptedObject = {
  encryptedData: Uint8Array
  keyId: string
  encryptedKeySource: Uint8Array
  annotations: Annotations
  keySourceType: KeySourceType
}

export function encodeEncryptedObject(object: EncryptedObject): Uint8Array {
  return message(
    bytesField(1, object.encryptedData),
    textField(2, object.keyId),
    bytesField(3, object.encryptedKeySource),
    ...annotationFields(4, object.annotations),
    ...(object.keySourceType === 'seed' ? [Buffer.from([(5 << 3) | 0, 1])] : []),
  )
}

export function decodeEncryptedObject(bytes: Uint8Array): EncryptedObject {
  const fields = decodeFields(bytes)
  const type = fields.get(5)?.at(-1) ?? 0
  if (type !== 0 && type !== 1) throw new Error(`unknown encryptedDEKSourceType: ${String(type)}`)
  return {
    encryptedData: bytesOf(fields, 1),
    keyId: textOf(fields, 2),
    encryptedKeySource: bytesOf(fields, 3),
    annotations: annotationsOf(fields, 4),
    keySourceType: type === 1 ? 'seed' : 'key',
  }
}

export const encodeEncryptRequest = ({ plaintext, uid }: { plaintext: Uint8Array; uid: string }): Buffer =>
  message(bytesField(1, plaintext), textField(2, uid))

export const encodeDecryptRequest = ({ ciphertext, uid, keyId, annotations }: DecryptRequest): Buffer =>
  message(bytesField(1, ciphertext), textField(2, uid), textField(3, keyId), ...annotationFields(4, annotations))

export function decodeStatusResponse(bytes: Uint8Array): StatusResponse {
  const fields = decodeFields(bytes)
  return { version: textOf(fields, 1), healthz: textOf(fields, 2), keyId: textOf(fields, 3) }
}

export function decodeEncryptResponse(bytes: Uint8Array): EncryptResponse {
  const fields = decodeFields(bytes)
  return { ciphertext: bytesOf(fields, 1), keyId: textOf(fields, 2), annotations: annotationsOf(fields, 3) }
}

export const decodeDecryptResponse = (bytes: Uint8Array): Uint8Array => bytesOf(decodeFields(bytes), 1)

function message(...parts: readonly Uint8Array[]): Buffer {
  return Buffer.concat(parts)
}

export function bytesField(number: number, bytes: Uint8Array): Uint8Array {
  return bytes.length === 0 ? bytes : Buffer.concat([varint((number << 3) | 2), varint(bytes.length), bytes])
}

export const textField = (number: number, text: string): Uint8Array => bytesField(number, Buffer.from(text))

export function annotationFields(number: number, annotations: Annotations): Uint8Array[] {
  return Object.entries(annotations).map(([key, value]) => bytesField(number, message(textField(1, key), bytesField(2, value))))
}

function varint(value: number): Uint8Array {
  const octets: number[] = []
  let left = value
  for (; left >= 0x80; left = Math.floor(left / 128)) octets.push((left % 128) | 0x80)
  return Uint8Array.of(...octets, left)
}

export function decodeFields(bytes: Uint8Array): Fields {
  const fields: Fields = new Map()
  let position = 0
  const readVarint = (): number => {
    let value = 0
    for (let shift = 0; shift < 63; shift += 7) {
      const octet = bytes[position++]
      if (octet === undefined) throw new Error('proto: unexpected end of data')
      value += (octet & 0x7f) * 2 ** shift
      if (octet < 0x80) return value
    }
    throw new Error('proto: integer overflow')
  }
  while (position < bytes.length) {
    const tag = readVarint()
    const [number, wireType] = [Math.floor(tag / 8), tag % 8]
    if (wireType !== 0 && wireType !== 2) throw new Error(`proto: unexpected wire type ${wireType}`)
    let value: Uint8Array | number = readVarint()
    if (wireType === 2) {
      const end = position + value
      if (end > bytes.length) throw new Error('proto: unexpected end of data')
      value = bytes.subarray(position, end)
      position = end
    }
    const list = fields.get(number)
    if (list === undefined) fields.set(number, [value])
    else list.push(value)
  }
  return fields
}

function bytesOf(fields: Fields, number: number): Uint8Array {
  const value = fields.get(number)?.at(-1)
  return value instanceof Uint8Array ? value : new Uint8Array()
}

const textOf = (fields: Fields, number: number): string => Buffer.from(bytesOf(fields, number)).toString('utf8')

function annotationsOf(fields: Fields, number: number): Annotations {
  const entries = (fields.get(number) ?? []).flatMap((entry) => {
    if (!(entry instanceof Uint8Array)) return []
    const parts = decodeFields(entry)
    return [[textOf(parts, 1), bytesOf(parts, 2)] as const]
  })
  return Object.fromEntries(entries)
}
