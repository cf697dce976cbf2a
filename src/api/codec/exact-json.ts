/** JSON read without loss: keys that come twice, numbers as they were written. The text must be known to be valid. */

import { setOwn } from './own-key.ts'

class ObjectNode {
  readonly entries: [string, Node][] = []
}

class ArrayNode {
  readonly items: Node[] = []
}

/** A number's text. */
class NumberNode {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** Plain values of JSON stand for themselves: what did not come from text can be decoded all the same. */
export type Node = ObjectNode | ArrayNode | NumberNode | string | boolean | null | unknown

const literals: Readonly<Record<string, boolean | null>> = { t: true, f: false, n: null }

export function readExactly(text: string): Node {
  let root: Node
  const stack: (ObjectNode | ArrayNode)[] = []
  let key = ''
  let isKey = false
  const add = (node: Node): void => {
    const parent = stack.at(-1)
    if (parent === undefined) root = node
    else if (parent instanceof ObjectNode) parent.entries.push([key, node])
    else parent.items.push(node)
  }
  const open = (node: ObjectNode | ArrayNode): void => {
    add(node)
    stack.push(node)
    isKey = node instanceof ObjectNode
  }
  let at = 0
  while (at < text.length) {
    const char = text.charAt(at)
    if (char === '"') {
      const end = endOfString(text, at)
      const value = stringAt(text, at, end)
      if (isKey) key = value
      else add(value)
      isKey = false
      at = end
    } else if (char === '{') {
      open(new ObjectNode())
      at++
    } else if (char === '[') {
      open(new ArrayNode())
      at++
    } else if (char === '}' || char === ']') {
      stack.pop()
      isKey = false
      at++
    } else if (char === ',') {
      isKey = stack.at(-1) instanceof ObjectNode
      at++
    } else if (char in literals) {
      add(literals[char] ?? null)
      at += char === 'f' ? 5 : 4
    } else if (char === '-' || (char >= '0' && char <= '9')) {
      const end = endOfRun(numberRun, text, at)
      add(new NumberNode(text.slice(at, end)))
      at = end
    } else at = endOfRun(otherRun, text, at)
  }
  return root
}

// A number or a gap may have a million characters.
const numberRun = /[-+.0-9Ee]+/y
const otherRun = /[^"{}[\],tfn0-9-]+/y

function endOfRun(run: RegExp, text: string, start: number): number {
  run.lastIndex = start
  return run.test(text) ? run.lastIndex : start + 1
}

function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); ; end = text.indexOf('"', end + 1)) {
    let backslashes = 0
    while (text.charCodeAt(end - 1 - backslashes) === 0x5c) backslashes++
    if (backslashes % 2 === 0) return end + 1
  }
}

/** Halves of surrogate pairs become replacement characters, as in Go. */
function stringAt(text: string, start: number, end: number): string {
  const inner = text.slice(start + 1, end - 1)
  return inner.includes('\\') ? (JSON.parse(text.slice(start, end)) as string).toWellFormed() : inner
}

const maxInt64 = 2n ** 63n - 1n

/** An integer that a double cannot hold becomes a bigint, as long as Go's int64 can hold it. */
function numberOf(text: string): number | bigint {
  const number = Number(text)
  if (Number.isSafeInteger(number) || !/^-?\d{1,19}$/.test(text)) return number
  const exact = BigInt(text)
  return exact <= maxInt64 && exact >= -maxInt64 - 1n ? exact : number
}

export type NodeKind = 'object' | 'array' | 'string' | 'number' | 'bool' | 'null'

/** As Go names them in its errors. */
export function kindOf(node: Node): NodeKind {
  if (node === null || node === undefined) return 'null'
  if (typeof node === 'string') return 'string'
  if (typeof node === 'boolean') return 'bool'
  if (typeof node === 'number' || typeof node === 'bigint' || node instanceof NumberNode) return 'number'
  return node instanceof ArrayNode || Array.isArray(node) ? 'array' : 'object'
}

export function entriesOf(node: Node): [string, Node][] {
  return node instanceof ObjectNode ? node.entries : Object.entries(node as Record<string, Node>)
}

export function itemsOf(node: Node): Node[] {
  return node instanceof ArrayNode ? node.items : (node as Node[])
}

export function numberText(node: Node): string {
  return node instanceof NumberNode ? node.text : String(node)
}

/** What the node stands for. The last of several equal keys counts. */
export function plainValue(node: Node): unknown {
  if (node instanceof NumberNode) return numberOf(node.text)
  if (node instanceof ArrayNode) return node.items.map(plainValue)
  if (!(node instanceof ObjectNode)) return node
  const object: Record<string, unknown> = {}
  for (const [key, child] of node.entries) setOwn(object, key, plainValue(child))
  return object
}
