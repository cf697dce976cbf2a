import type { V1Taint } from '#api/core/v1/types.gen.ts'
import { parseQuantity } from '#api/meta/quantity.ts'
import { lengthOfTimeMs } from '#base/duration.ts'

/** What the machines of a group are like. */
export type NodeShape = {
  readonly cpu: string
  readonly memory: string
  readonly pods: string
  readonly labels: Readonly<Record<string, string>>
  readonly taints: readonly V1Taint[]
  /** Of one machine for an hour. */
  readonly pricePerHour: number
  /** How long a simulated machine takes until its node registers. */
  readonly bootMs: number
}

export type NodeGroupSpec = {
  readonly name: string
  readonly minSize: number
  readonly maxSize: number
  readonly isSimulated: boolean
  readonly shape: NodeShape
}

const defaultShape: NodeShape = { cpu: '4', memory: '16Gi', pods: '110', labels: {}, taints: [], pricePerHour: 0, bootMs: 0 }
const usage = 'a node group is written MIN:MAX:NAME, such as 1:10:workers'

/** `1:10:workers`, or with the shape of its machines: `0:5:big,cpu=16,memory=64Gi,price=0.8,zone=a,label=disk=ssd,taint=gpu=yes:NoSchedule`. */
export function parseNodeGroup(text: string): NodeGroupSpec {
  const [sizes = '', ...words] = text.split(',')
  const [min = '', max = '', ...rest] = sizes.split(':')
  const name = rest.join(':')
  if (!/^\d+$/.test(min) || !/^\d+$/.test(max) || name === '') throw new Error(`${JSON.stringify(text)}: ${usage}`)
  const [minSize, maxSize] = [Number(min), Number(max)]
  if (maxSize < minSize) throw new Error(`${JSON.stringify(text)}: max size must be greater or equal to min size`)
  if (maxSize < 1) throw new Error(`${JSON.stringify(text)}: max size must be greater than 0`)
  const { shape, isSimulated } = parseShape(words, text)
  return { name, minSize, maxSize, isSimulated, shape }
}

function parseShape(words: readonly string[], text: string): Pick<NodeGroupSpec, 'shape' | 'isSimulated'> {
  const labels: Record<string, string> = {}
  const taints: V1Taint[] = []
  const shape: { -readonly [Name in keyof NodeShape]: NodeShape[Name] } = { ...defaultShape, labels, taints }
  let isSimulated = false
  for (const word of words) {
    const [key, value] = splitOnce(word, '=')
    if (key === 'simulated' && value === '') isSimulated = true
    else if (key === 'cpu' || key === 'memory' || key === 'pods') shape[key] = quantity(value, text)
    else if (key === 'price') shape.pricePerHour = positive(value, text)
    else if (key === 'boot') shape.bootMs = lengthOfTime(value, text)
    else if (key === 'zone') labels['topology.kubernetes.io/zone'] = value
    else if (key === 'label') labels[splitOnce(value, '=')[0]] = splitOnce(value, '=')[1]
    else if (key === 'taint') taints.push(taintOf(value, text))
    else
      throw new Error(
        `${JSON.stringify(text)}: ${word} is none of cpu=, memory=, pods=, price=, boot=, zone=, label=, taint= and simulated`,
      )
  }
  return { shape, isSimulated }
}

function splitOnce(text: string, separator: string): [string, string] {
  const index = text.indexOf(separator)
  return index < 0 ? [text, ''] : [text.slice(0, index), text.slice(index + 1)]
}

function quantity(value: string, text: string): string {
  try {
    if (parseQuantity(value).value() > 0) return value
  } catch {
    // Said below.
  }
  throw new Error(`${JSON.stringify(text)}: ${JSON.stringify(value)} is not an amount such as 4 or 16Gi`)
}

function positive(value: string, text: string): number {
  const number = Number(value)
  if (value === '' || !(number >= 0)) throw new Error(`${JSON.stringify(text)}: ${JSON.stringify(value)} is not a price such as 0.25`)
  return number
}

function lengthOfTime(value: string, text: string): number {
  const ms = lengthOfTimeMs(value)
  if (ms === undefined) throw new Error(`${JSON.stringify(text)}: ${JSON.stringify(value)} is not a length of time such as 90s`)
  return ms
}

/** `key=value:NoSchedule`, or `key:NoSchedule`. */
function taintOf(text: string, group: string): V1Taint {
  const [, key, value, effect] = /^([^=:]+)(?:=([^:]*))?:(NoSchedule|NoExecute|PreferNoSchedule)$/.exec(text) ?? []
  if (key === undefined || effect === undefined)
    throw new Error(`${JSON.stringify(group)}: ${text} is not a taint such as gpu=yes:NoSchedule`)
  return { key, effect, ...(value ? { value } : {}) }
}
