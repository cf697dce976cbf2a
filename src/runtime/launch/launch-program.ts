/**
 * A program of some 200 bytes that makes the system calls of a script, one after the other. It is what a container is before it is itself, and
 * what waits for its end. A process of one thread may do what a thread of Node may not: enter user namespaces, fork, give up its rights in
 * the order that is safe.
 *
 * The script is open as descriptor 4 and is mapped to `scriptAddress`. Steps are `stepBytes` long, nine words of 64 bits:
 *
 *   0  the step to go on with after an error; 0: tell descriptor 3 which step failed with what, and end
 *   1  the number of the call, or -1 for a comparison
 *   2  six arguments               | of a comparison: two addresses, and the step to go on with where the values there are equal
 *   8  the address of the result   |
 *
 * A result is written where the script says: into the arguments of a later step, for one.
 */

/** As Go names them. */
export type Architecture = 'amd64' | 'arm64'

export const scriptAddress = 0x10000000
export const scriptMostBytes = 0x1000000
export const stepBytes = 72
export const descriptors = { status: 3, script: 4 } as const

const loadAddress = 0x400000
const codeOffset = 120
const failedExit = 127

export type LaunchProgram = {
  bytes: Uint8Array
  /** A signal handler that does nothing, and what it returns to (0 where the kernel has that itself). */
  handlerAddress: number
  restorerAddress: number
}

export function launchProgram(architecture: Architecture): LaunchProgram {
  const { machine, code, handler, restorer } = architecture === 'amd64' ? amd64() : arm64()
  const address = (offset: number) => loadAddress + codeOffset + offset
  return {
    bytes: Buffer.concat([elfHeaders(machine, codeOffset + code.length), code]),
    handlerAddress: address(handler),
    restorerAddress: restorer === undefined ? 0 : address(restorer),
  }
}

type Code = { machine: number; code: Buffer; handler: number; restorer?: number }

function amd64(): Code {
  const bytes: number[] = []
  const labels = new Map<string, number>()
  const jumps: { at: number; label: string }[] = []
  const put = (...values: number[]) => bytes.push(...values)
  const label = (name: string) => labels.set(name, bytes.length)
  const number = (value: number) => [value & 0xff, (value >>> 8) & 0xff, (value >>> 16) & 0xff, (value >>> 24) & 0xff]
  const jump = (opcode: number, name: string) => {
    put(opcode, 0)
    jumps.push({ at: bytes.length - 1, label: name })
  }
  const syscall = () => put(0x0f, 0x05)
  put(0xbf, ...number(scriptAddress)) // mov edi, scriptAddress
  put(0xbe, ...number(scriptMostBytes)) // mov esi
  put(0xba, ...number(3)) // mov edx: read and write
  put(0x41, 0xba, ...number(0x12)) // mov r10d: private, at this address
  put(0x41, 0xb8, ...number(descriptors.script)) // mov r8d
  put(0x45, 0x31, 0xc9) // xor r9d, r9d
  put(0xb8, ...number(9)) // mov eax: mmap
  syscall()
  put(0xbb, ...number(scriptAddress)) // mov ebx: the step
  label('step')
  put(0x48, 0x8b, 0x43, 8) // mov rax, [rbx+8]
  put(0x48, 0x83, 0xf8, 0xff) // cmp rax, -1
  jump(0x74, 'compare')
  put(0x48, 0x8b, 0x7b, 16) // mov rdi, [rbx+16]
  put(0x48, 0x8b, 0x73, 24) // mov rsi, [rbx+24]
  put(0x48, 0x8b, 0x53, 32) // mov rdx, [rbx+32]
  put(0x4c, 0x8b, 0x53, 40) // mov r10, [rbx+40]
  put(0x4c, 0x8b, 0x43, 48) // mov r8, [rbx+48]
  put(0x4c, 0x8b, 0x4b, 56) // mov r9, [rbx+56]
  syscall()
  put(0x48, 0x8b, 0x4b, 64) // mov rcx, [rbx+64]
  put(0x48, 0x89, 0x01) // mov [rcx], rax
  put(0x48, 0x3d, ...number(-4096)) // cmp rax, -4096
  jump(0x77, 'error') // ja
  label('next')
  put(0x48, 0x83, 0xc3, stepBytes) // add rbx, stepBytes
  jump(0xeb, 'step')
  label('error')
  put(0x48, 0x8b, 0x0b) // mov rcx, [rbx]
  put(0x48, 0x85, 0xc9) // test rcx, rcx
  jump(0x74, 'fail')
  put(0x48, 0x89, 0xcb) // mov rbx, rcx
  jump(0xeb, 'step')
  label('compare')
  put(0x48, 0x8b, 0x4b, 16) // mov rcx, [rbx+16]
  put(0x48, 0x8b, 0x01) // mov rax, [rcx]
  put(0x48, 0x8b, 0x4b, 24) // mov rcx, [rbx+24]
  put(0x48, 0x3b, 0x01) // cmp rax, [rcx]
  jump(0x75, 'next') // jne
  put(0x48, 0x8b, 0x5b, 32) // mov rbx, [rbx+32]
  jump(0xeb, 'step')
  label('fail')
  put(0x50, 0x53) // push rax, rbx
  put(0xb8, ...number(1)) // mov eax: write
  put(0xbf, ...number(descriptors.status)) // mov edi
  put(0x48, 0x89, 0xe6) // mov rsi, rsp
  put(0xba, ...number(16)) // mov edx
  syscall()
  put(0xb8, ...number(231)) // mov eax: exit_group
  put(0xbf, ...number(failedExit)) // mov edi
  syscall()
  label('handler')
  put(0xc3) // ret
  label('restorer')
  put(0xb8, ...number(15)) // mov eax: rt_sigreturn
  syscall()
  const offset = (name: string) => labels.get(name) ?? 0
  for (const { at, label: name } of jumps) bytes[at] = (offset(name) - at - 1) & 0xff
  return { machine: 62, code: Buffer.from(bytes), handler: offset('handler'), restorer: offset('restorer') }
}

function arm64(): Code {
  const words: number[] = []
  const labels = new Map<string, number>()
  const jumps: { at: number; label: string; shift: number; mask: number }[] = []
  const label = (name: string) => labels.set(name, words.length)
  const move = (register: number, value: number) => {
    words.push(0xd2800000 | ((value & 0xffff) << 5) | register) // movz
    if (value > 0xffff) words.push(0xf2a00000 | (((value >>> 16) & 0xffff) << 5) | register) // movk, lsl 16
  }
  const load = (register: number, base: number, at = 0) => words.push(0xf9400000 | ((at / 8) << 10) | (base << 5) | register)
  const jump = (opcode: number, name: string, shift: number, mask: number) => {
    jumps.push({ at: words.length, label: name, shift, mask })
    words.push(opcode)
  }
  const conditions = { equal: 0, unequal: 1, higherOrSame: 2 }
  const jumpIf = (condition: keyof typeof conditions, name: string) => jump(0x54000000 | conditions[condition], name, 5, 0x7ffff)
  const go = (name: string) => jump(0x14000000, name, 0, 0x3ffffff)
  const syscall = () => words.push(0xd4000001) // svc 0
  for (const [register, value] of [scriptAddress, scriptMostBytes, 3, 0x12, descriptors.script, 0].entries()) move(register, value)
  move(8, 222) // mmap
  syscall()
  move(19, scriptAddress) // x19: the step
  label('step')
  load(8, 19, 8)
  words.push(0xb1000400 | (8 << 5) | 31) // cmn x8, 1
  jumpIf('equal', 'compare')
  for (let register = 0; register < 6; register++) load(register, 19, 16 + 8 * register)
  syscall()
  load(9, 19, 64)
  words.push(0xf9000000 | (9 << 5)) // str x0, [x9]
  words.push(0xb1000000 | (4095 << 10) | 31) // cmn x0, 4095
  jumpIf('higherOrSame', 'error')
  label('next')
  words.push(0x91000000 | (stepBytes << 10) | (19 << 5) | 19) // add x19, x19, stepBytes
  go('step')
  label('error')
  load(9, 19)
  jump(0xb4000000 | 9, 'fail', 5, 0x7ffff) // cbz x9
  words.push(0xaa0003e0 | (9 << 16) | 19) // mov x19, x9
  go('step')
  label('compare')
  load(9, 19, 16)
  load(10, 9)
  load(9, 19, 24)
  load(11, 9)
  words.push(0xeb00001f | (11 << 16) | (10 << 5)) // cmp x10, x11
  jumpIf('unequal', 'next')
  load(19, 19, 32)
  go('step')
  label('fail')
  words.push(0xa9bf0000 | (31 << 5) | 19) // stp x19, x0, [sp, -16]!
  move(0, descriptors.status)
  words.push(0x910003e1) // mov x1, sp
  move(2, 16)
  move(8, 64) // write
  syscall()
  move(0, failedExit)
  move(8, 94) // exit_group
  syscall()
  label('handler')
  words.push(0xd65f03c0) // ret
  const offset = (name: string) => labels.get(name) ?? 0
  for (const { at, label: name, shift, mask } of jumps) words[at] = (words[at] ?? 0) | (((offset(name) - at) & mask) << shift)
  const code = Buffer.alloc(words.length * 4)
  for (const [index, word] of words.entries()) code.writeUInt32LE(word >>> 0, index * 4)
  return { machine: 183, code, handler: offset('handler') * 4 }
}

/** An executable of one segment that is the whole file, headers included. */
function elfHeaders(machine: number, fileBytes: number): Buffer {
  const bytes = Buffer.alloc(codeOffset)
  bytes.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1], 0)
  for (const [at, value] of [
    [16, 2], // an executable
    [18, machine],
    [52, 64],
    [54, 56],
    [56, 1],
    [58, 64],
  ] as const)
    bytes.writeUInt16LE(value, at)
  for (const [at, value] of [
    [20, 1],
    [24, loadAddress + codeOffset],
    [32, 64],
    [64, 1], // a segment to be loaded
    [68, 5], // to be read and run
    [80, loadAddress],
    [88, loadAddress],
    [96, fileBytes],
    [104, fileBytes],
    [112, 0x10000],
  ] as const)
    bytes.writeUInt32LE(value, at)
  return bytes
}
