/** Who a container's process is, from what was asked for and the image's own lists of users and groups. */

export type UserRequest = {
  /** `1000`, `tester`, `tester:staff`, `1000:1000`; empty for root. */
  user: string
  gid?: number
  groups: readonly number[]
  /** Whether groups that the image has the user in count as well. */
  mergesGroups: boolean
}

export type FoundUser = { uid: number; gid: number; groups: number[]; home: string }

/** `passwd` and `group` as the image has them. Throws where a name is not known there. */
export function findUser({ user, gid, groups, mergesGroups }: UserRequest, lists: { passwd: string; group: string }): FoundUser {
  const [name = '', groupName] = user.split(':')
  const users = rows(lists.passwd)
  const number = /^\d+$/.test(name) ? Number(name) : undefined
  const entry =
    name === '' ? users.find((row) => row[2] === '0') : users.find((row) => (number === undefined ? row[0] === name : row[2] === name))
  if (entry === undefined && number === undefined && name !== '')
    throw new Error(`unable to find user ${name}: no matching entries in passwd file`)
  const uid = number ?? Number(entry?.[2] ?? 0)
  const own = gid ?? groupOf(groupName, lists.group) ?? Number(entry?.[3] ?? 0)
  const further =
    mergesGroups && entry !== undefined ? rows(lists.group).filter((row) => (row[3] ?? '').split(',').includes(entry[0] ?? '')) : []
  // In the order that containerd and CRI-O have: clients compare the list.
  const all = [own, ...further.map((row) => Number(row[2])), ...groups]
  return { uid, gid: own, groups: [...new Set(all)].filter((group) => group >= 0), home: entry?.[5] ?? '/' }
}

function groupOf(name: string | undefined, list: string): number | undefined {
  if (name === undefined || name === '') return undefined
  if (/^\d+$/.test(name)) return Number(name)
  const entry = rows(list).find((row) => row[0] === name)
  if (entry === undefined) throw new Error(`unable to find group ${name}: no matching entries in group file`)
  return Number(entry[2])
}

const rows = (text: string): string[][] =>
  text
    .split('\n')
    .filter((line) => line.includes(':'))
    .map((line) => line.split(':'))
