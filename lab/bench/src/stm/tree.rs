//! A set of numbers as a red-black tree with links to parents.
//!
//! A node is five words. Node 0 does not exist; its words hold the root. Missing children count as
//! black, and nothing is written to them, so that transactions don't conflict there.
//!
//! Source: Cormen, Leiserson, Rivest and Stein, "Introduction to Algorithms", chapter 13.

use super::access::{Access, Op};
use super::set::{Ask, Asked, Layout};

const ROOT: usize = 0;
const WORDS: usize = 5;

const NUMBER: usize = 0;
const LEFT: usize = 1;
const RIGHT: usize = 2;
const PARENT: usize = 3;
const COLOR: usize = 4;

const BLACK: u64 = 0;
const RED: u64 = 1;

const fn other(side: usize) -> usize {
    LEFT + RIGHT - side
}

#[derive(Clone, Copy)]
pub struct Tree;

/// The words of the tree, addressed by node and field.
struct Nodes<'a, A>(&'a mut A);

type Done<A, T = ()> = Result<T, <A as Access>::Stop>;

impl<A: Access> Nodes<'_, A> {
    #[inline(always)]
    fn get(&mut self, node: u64, field: usize) -> Done<A, u64> {
        self.0.get(node as usize * WORDS + field)
    }

    #[inline(always)]
    fn set(&mut self, node: u64, field: usize, value: u64) -> Done<A> {
        self.0.set(node as usize * WORDS + field, value)
    }

    fn is_black(&mut self, node: u64) -> Done<A, bool> {
        Ok(node == 0 || self.get(node, COLOR)? == BLACK)
    }

    /// Replaces the child `old` of the node `parent` by `new`.
    fn replace(&mut self, parent: u64, old: u64, new: u64) -> Done<A> {
        if parent == 0 {
            self.0.set(ROOT, new)
        } else {
            let side = if self.get(parent, LEFT)? == old { LEFT } else { RIGHT };
            self.set(parent, side, new)
        }
    }

    /// Rotates: moves a node down to one side, and replaces it by its child on the other side.
    fn rotate(&mut self, node: u64, side: usize) -> Done<A> {
        let child = self.get(node, other(side))?;
        let inner = self.get(child, side)?;
        self.set(node, other(side), inner)?;
        if inner != 0 {
            self.set(inner, PARENT, node)?;
        }
        let parent = self.get(node, PARENT)?;
        self.set(child, PARENT, parent)?;
        self.replace(parent, node, child)?;
        self.set(child, side, node)?;
        self.set(node, PARENT, child)
    }

    /// The node of a number, or 0 if there is none, and its parent.
    #[inline]
    fn find(&mut self, number: u64) -> Done<A, (u64, u64)> {
        let (mut parent, mut node) = (0, self.0.get(ROOT)?);
        while node != 0 {
            let here = self.get(node, NUMBER)?;
            if here == number {
                break;
            }
            parent = node;
            node = self.get(node, if number < here { LEFT } else { RIGHT })?;
        }
        Ok((node, parent))
    }

    fn insert(&mut self, number: u64, node: u64, parent: u64) -> Done<A> {
        for (field, value) in
            [(NUMBER, number), (LEFT, 0), (RIGHT, 0), (PARENT, parent), (COLOR, RED)]
        {
            self.set(node, field, value)?;
        }
        if parent == 0 {
            self.0.set(ROOT, node)?;
        } else {
            let side = if number < self.get(parent, NUMBER)? { LEFT } else { RIGHT };
            self.set(parent, side, node)?;
        }
        self.repair_red(node)
    }

    /// Repairs the tree after `node` became red, since its parent may be red too.
    fn repair_red(&mut self, mut node: u64) -> Done<A> {
        loop {
            let parent = self.get(node, PARENT)?;
            if parent == 0 {
                return self.set(node, COLOR, BLACK);
            }
            if self.get(parent, COLOR)? == BLACK {
                return Ok(());
            }
            let above = self.get(parent, PARENT)?;
            let side = if self.get(above, LEFT)? == parent { LEFT } else { RIGHT };
            let uncle = self.get(above, other(side))?;
            if !self.is_black(uncle)? {
                self.set(parent, COLOR, BLACK)?;
                self.set(uncle, COLOR, BLACK)?;
                self.set(above, COLOR, RED)?;
                node = above;
                continue;
            }
            let mut top = parent;
            if self.get(parent, other(side))? == node {
                self.rotate(parent, side)?;
                top = node;
            }
            self.set(top, COLOR, BLACK)?;
            self.set(above, COLOR, RED)?;
            return self.rotate(above, other(side));
        }
    }

    /// Removes a node's number. Returns the node that becomes free.
    fn remove(&mut self, mut node: u64) -> Done<A, u64> {
        let (left, right) = (self.get(node, LEFT)?, self.get(node, RIGHT)?);
        if left != 0 && right != 0 {
            let mut next = right;
            loop {
                match self.get(next, LEFT)? {
                    0 => break,
                    left => next = left,
                }
            }
            let number = self.get(next, NUMBER)?;
            self.set(node, NUMBER, number)?;
            node = next;
        }
        let child = match self.get(node, LEFT)? {
            0 => self.get(node, RIGHT)?,
            left => left,
        };
        let parent = self.get(node, PARENT)?;
        self.replace(parent, node, child)?;
        if child != 0 {
            self.set(child, PARENT, parent)?;
        }
        if self.get(node, COLOR)? == BLACK {
            self.repair_black(child, parent)?;
        }
        Ok(node)
    }

    /// Repairs the paths through `node`, a child of `parent`, which lack a black node.
    fn repair_black(&mut self, mut node: u64, mut parent: u64) -> Done<A> {
        while parent != 0 && self.is_black(node)? {
            let side = if self.get(parent, LEFT)? == node { LEFT } else { RIGHT };
            let mut sibling = self.get(parent, other(side))?;
            if !self.is_black(sibling)? {
                self.set(sibling, COLOR, BLACK)?;
                self.set(parent, COLOR, RED)?;
                self.rotate(parent, side)?;
                sibling = self.get(parent, other(side))?;
            }
            let near = self.get(sibling, side)?;
            let mut far = self.get(sibling, other(side))?;
            if self.is_black(far)? {
                if self.is_black(near)? {
                    self.set(sibling, COLOR, RED)?;
                    node = parent;
                    parent = self.get(node, PARENT)?;
                    continue;
                }
                self.set(near, COLOR, BLACK)?;
                self.set(sibling, COLOR, RED)?;
                self.rotate(sibling, other(side))?;
                (far, sibling) = (sibling, near);
            }
            let color = self.get(parent, COLOR)?;
            self.set(sibling, COLOR, color)?;
            self.set(parent, COLOR, BLACK)?;
            self.set(far, COLOR, BLACK)?;
            return self.rotate(parent, side);
        }
        if node != 0 { self.set(node, COLOR, BLACK) } else { Ok(()) }
    }

    /// Checks a part of the tree: the numbers' order and bounds, the colors, and the links to
    /// parents. Returns the number of nodes, and the number of black nodes on each path.
    fn check(&mut self, node: u64, parent: u64, bounds: (u64, u64)) -> Done<A, (u64, u64)> {
        if node == 0 {
            return Ok((0, 0));
        }
        let number = self.get(node, NUMBER)?;
        assert!(bounds.0 <= number && number < bounds.1, "a number is misplaced");
        assert_eq!(self.get(node, PARENT)?, parent, "a link to a parent is wrong");
        let (left, right) = (self.get(node, LEFT)?, self.get(node, RIGHT)?);
        let black = self.is_black(node)?;
        let children_black = self.is_black(left)? && self.is_black(right)?;
        assert!(black || children_black, "a red node is below a red one");
        let (count_left, black_left) = self.check(left, node, (bounds.0, number))?;
        let (count_right, black_right) = self.check(right, node, (number + 1, bounds.1))?;
        assert_eq!(black_left, black_right, "paths differ in black nodes");
        Ok((count_left + count_right + 1, black_left + u64::from(black)))
    }
}

impl Layout for Tree {
    fn words(&self, nodes: usize) -> usize {
        nodes * WORDS
    }

    #[inline]
    fn run<A: Access>(&self, ask: &Ask, words: &mut A) -> Result<Asked, A::Stop> {
        let mut nodes = Nodes(words);
        match *ask {
            Ask::Contains(number) => Ok(Asked::Found(nodes.find(number)?.0 != 0)),
            Ask::Insert(number, spare) => match nodes.find(number)? {
                (0, parent) => nodes.insert(number, spare, parent).map(|()| Asked::Changed(0)),
                _ => Ok(Asked::Found(true)),
            },
            Ask::Remove(number) => match nodes.find(number)? {
                (0, _) => Ok(Asked::Found(false)),
                (node, _) => nodes.remove(node).map(Asked::Changed),
            },
        }
    }
}

/// Counts the numbers, and checks the tree.
#[derive(Clone, Copy)]
pub struct Count;

impl Op for Count {
    type Out = u64;

    fn run<A: Access>(&self, words: &mut A) -> Result<u64, A::Stop> {
        let mut nodes = Nodes(words);
        let root = nodes.0.get(ROOT)?;
        assert!(nodes.is_black(root)?, "the root is red");
        Ok(nodes.check(root, 0, (0, u64::MAX))?.0)
    }
}
