/** Sets of completion indexes as jobs write them: `1,3-5,7`. */
import { quoted } from '#api/meta/check.ts'

type Interval = { first: number; last: number }

/** How many indexes the text holds; throws an Error in upstream's words if it is no ordered set of indexes below `completions`. */
export function countIndexes(text: string, completions: number): number {
  if (text === '') return 0
  let count = 0
  let previous: number | undefined
  for (const part of text.split(',')) {
    const { first, last } = parseInterval(part, completions)
    if (previous !== undefined && previous >= first) throw new Error(`non-increasing order, previous: ${previous}, current: ${first}`)
    count += last - first + 1
    previous = last
  }
  return count
}

/** What is wrong with the text, if anything. */
export function indexesError(text: string, completions: number): string | undefined {
  try {
    countIndexes(text, completions)
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

/** An index that is in both sets; intervals that cannot be read are passed over. */
export function overlappingIndex(one: string, other: string, completions: number): number | undefined {
  const left = readableIntervals(one, completions)
  const right = readableIntervals(other, completions)
  let at = 0
  let facing = 0
  while (true) {
    const a = left[at]
    const b = right[facing]
    if (!a || !b) return undefined
    if (a.first <= b.last && b.first <= a.last) return Math.max(a.first, b.first)
    if (a.first <= b.first) at++
    else facing++
  }
}

function readableIntervals(text: string, completions: number): Interval[] {
  return text.split(',').flatMap((part) => {
    try {
      return [parseInterval(part, completions)]
    } catch {
      return []
    }
  })
}

function parseInterval(text: string, completions: number): Interval {
  const [firstText = '', lastText, ...more] = text.split('-')
  if (more.length > 0) {
    throw new Error(
      `the fragment ${quoted(text)} violates the requirement that an index interval can have at most two parts separated by '-'`,
    )
  }
  const first = parseIndex(firstText, completions)
  if (lastText === undefined) return { first, last: first }
  const last = parseIndex(lastText, completions)
  if (first >= last) throw new Error(`non-increasing order, previous: ${first}, current: ${last}`)
  return { first, last }
}

function parseIndex(text: string, completions: number): number {
  if (!/^\+?[0-9]+$/.test(text)) throw new Error(`cannot convert string to integer for index: ${quoted(text)}`)
  const index = Number(text)
  if (index >= completions) throw new Error(`too large index: ${quoted(text)}`)
  return index
}
